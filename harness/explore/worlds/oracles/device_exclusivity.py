"""Judges that no device is allocated to two claims, unless as shares of it."""

from typing import Any, TypedDict

import msgspec

from harness.apiserver.storage import watch_cache
from harness.checks.holds import live_spotter


class _Claim(TypedDict, total=False):
    """The fields of a claim that matter; others are not decoded."""

    status: dict[str, Any]


_decoder = msgspec.json.Decoder(_Claim)


class DeviceExclusivity:
    """Watches the commits for a double allocation."""

    def __init__(self) -> None:
        self._spotter = live_spotter.Spotter()

    @property
    def finding(self) -> str | None:
        """Description of the violation; None if there is none."""
        if self._spotter.found is None:
            return None
        device, first, second = self._spotter.found
        return f"device {device} is allocated to {first} and to {second}"

    def on_commit(self, commit: watch_cache.Commit) -> None:
        if commit.resource.plural != "resourceclaims":
            return
        gone = commit.type == "DELETED"
        claim = None if gone else _decoder.decode(commit.object.data)
        self._spotter.note(commit.object.name, claim)
