"""The devices and shares of devices that claims have already.

After AllocatedState in k8s.io/dynamic-resource-allocation/structured/internal.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from harness.subject import claims

Object = dict[str, Any]
Consumption = Mapping[str, str]
"""Quantities as text, by name of the capacity."""


@dataclasses.dataclass(slots=True)
class AllocatedState:
    """The devices and shares that no other claim may get."""

    devices: set[str] = dataclasses.field(default_factory=set)
    """`driver/pool/device` of each device that one claim has for itself."""
    shares: dict[str, dict[str, Consumption]] = dataclasses.field(default_factory=dict)
    """The consumption of each share, by `driver/pool/device` and share ID."""

    def copy(self) -> "AllocatedState":
        """Return a copy that does not change with this state."""
        shares = {device: dict(held) for device, held in self.shares.items()}
        return AllocatedState(set(self.devices), shares)

    def add(self, allocation: Object | None) -> None:
        """Add what an AllocationResult holds; None holds nothing."""
        self.devices.update(claims.exclusive_devices(allocation))
        for device, share, consumed in claims.shares(allocation):
            self.shares.setdefault(device, {})[share] = consumed

    def remove(self, allocation: Object | None) -> None:
        """Remove what an AllocationResult holds; what is not known is ignored."""
        self.devices.difference_update(claims.exclusive_devices(allocation))
        for device, share, _ in claims.shares(allocation):
            held = self.shares.get(device, {})
            held.pop(share, None)
            if not held:
                self.shares.pop(device, None)

    def is_used(self, device: str) -> bool:
        """Return whether a claim has the device, or a share of it."""
        return device in self.devices or device in self.shares
