"""Spots a double allocation while a run is still going on, commit by commit.

A spotted double allocation only ends the run early. The verdict comes from `device_exclusivity`,
which reads the run directory.
"""

from collections.abc import Mapping
from typing import Any


class Spotter:
    """Tracks the exclusive holder of each device."""

    def __init__(self) -> None:
        self._holders: dict[str, str] = {}
        self._held: dict[str, set[str]] = {}
        self.found: tuple[str, str, str] | None = None
        """(device, first claim, second claim) of the first double allocation; None: none yet."""

    def note(self, claim: str, document: Mapping[str, Any] | None) -> None:
        """Note the newest state of a claim (identified by uid or name); None if it is deleted."""
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
    """Return `driver/pool/device` of every device that the claim holds exclusively."""
    allocation = claim.get("status", {}).get("allocation") or {}
    results = allocation.get("devices", {}).get("results") or ()
    return {
        f"{item['driver']}/{item['pool']}/{item['device']}"
        for item in results
        if not (item.get("adminAccess") or item.get("shareID"))
    }
