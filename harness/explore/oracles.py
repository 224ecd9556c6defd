"""Judges while the run goes on: is a device in two claims at once, by what the API server committed?

The same question as the check `device_exclusivity` asks of a whole history, asked of every commit, because a run that has failed need
not go on.
"""

from typing import Any

import msgspec

from harness.apiserver import watching


class Oracle:
    """Listens to the store."""

    def __init__(self) -> None:
        self._holders: dict[str, str] = {}
        self._held: dict[str, set[str]] = {}
        self.finding: str | None = None
        """The violation in words."""

    def on_commit(self, commit: watching.Commit) -> None:
        """A commit has happened."""
        if commit.resource.plural != "resourceclaims":
            return
        claim = msgspec.json.decode(commit.object.data)
        name = claim["metadata"]["name"]
        held = set() if commit.type == "DELETED" else _devices(claim)
        for device in self._held.pop(name, set()) - held:
            if self._holders.get(device) == name:
                del self._holders[device]
        if held:
            self._held[name] = held
        for device in sorted(held):
            holder = self._holders.setdefault(device, name)
            if holder != name and self.finding is None:
                self.finding = f"device {device} is allocated to {holder} and to {name}"


def _devices(claim: dict[str, Any]) -> set[str]:
    allocation = claim.get("status", {}).get("allocation") or {}
    results = allocation.get("devices", {}).get("results") or ()
    return {
        f"{item['driver']}/{item['pool']}/{item['device']}"
        for item in results
        if not item.get("adminAccess") and not item.get("shareID")
    }
