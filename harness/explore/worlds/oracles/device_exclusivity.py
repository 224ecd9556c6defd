"""Judges that no device is allocated to two claims, unless as shares of it."""

from harness.checks.holds import live_spotter
from harness.explore.worlds.oracles import states


class DeviceExclusivity:
    """Watches claims for a double allocation."""

    def __init__(self) -> None:
        self._spotter = live_spotter.Spotter()

    @property
    def finding(self) -> str | None:
        """Description of the violation; None if there is none."""
        if self._spotter.found is None:
            return None
        device, first, second = self._spotter.found
        return f"device {device} is allocated to {first} and to {second}"

    def on_seen(self, seen: states.Seen) -> None:
        if seen.is_claim:
            self._spotter.note(seen.name, None if seen.is_gone else seen.object)
