"""The devices that allocations of before keep: whole devices, and shares with their amounts."""

import collections
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from harness.model import quantities

Object = dict[str, Any]


class Uses:
    """The devices in use."""

    def __init__(self, allocations: Iterable[Object]) -> None:
        """Read AllocationResults; results with admin access keep nothing."""
        self.whole: set[str] = set()
        """`driver/pool/device` of devices that one claim has for itself."""
        self.shares: dict[str, dict[str, Fraction]] = collections.defaultdict(dict)
        """The amounts of all shares of a device together, by name of the capacity.

        Less than nothing counts as nothing.
        """
        for allocation in allocations:
            for row in allocation["devices"]["results"]:
                if not row.get("adminAccess"):
                    self._add(row)

    def _add(self, row: Object) -> None:
        device = f"{row['driver']}/{row['pool']}/{row['device']}"
        if "shareID" not in row:
            self.whole.add(device)
            return
        used = self.shares[device]
        for name, text in row.get("consumedCapacity", {}).items():
            used[name] = used.get(name, Fraction(0)) + max(quantities.amount(text), Fraction(0))

    def has(self, device: str) -> bool:
        return device in self.whole or device in self.shares
