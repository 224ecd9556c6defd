"""Spots a device in two claims while things are still going on: to end a run early, or at the very commit.

The question of `device_exclusivity`, asked commit by commit and without evidence. What is spotted ends a run; the verdict about it is
given by the check, from the run's directory.
"""

from collections.abc import Mapping
from typing import Any


class Spotter:
    """Is told of every claim's newest state."""

    def __init__(self) -> None:
        self._holders: dict[str, str] = {}
        self._held: dict[str, set[str]] = {}
        self.found: tuple[str, str, str] | None = None
        """The first device that was in two claims at once, and the two."""

    def note(self, claim: str, document: Mapping[str, Any] | None) -> None:
        """A claim (by uid or name) is like this now; None when it is gone."""
        held = exclusive_devices(document) if document is not None else set()
        for device in self._held.pop(claim, set()) - held:
            if self._holders.get(device) == claim:
                del self._holders[device]
        if held:
            self._held[claim] = held
        for device in sorted(held):
            holder = self._holders.setdefault(device, claim)
            if holder != claim and self.found is None:
                self.found = (device, holder, claim)


def exclusive_devices(claim: Mapping[str, Any]) -> set[str]:
    """`driver/pool/device` of what the claim holds and nobody else may hold."""
    allocation = claim.get("status", {}).get("allocation") or {}
    results = allocation.get("devices", {}).get("results") or ()
    return {
        f"{item['driver']}/{item['pool']}/{item['device']}"
        for item in results
        if is_exclusive(admin=item.get("adminAccess"), share=item.get("shareID"))
    }


def is_exclusive(*, admin: bool | None, share: str | None) -> bool:
    """Tell whether an allocation result gives its device to one claim alone: without admin access, and without a share.

    `shareID` is an optional UID, which is never empty: an empty one is none.
    """
    return not admin and not share
