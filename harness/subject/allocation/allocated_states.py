"""The devices and shares of devices that claims have already.

After AllocatedState in k8s.io/dynamic-resource-allocation/structured/internal.
"""

import dataclasses
from collections.abc import Iterator, Mapping

from harness.model.objects import Object
from harness.subject.allocation import device_sets
from harness.subject.objects import claims

Consumption = Mapping[str, str]
"""Quantities as text, by name of the capacity."""


@dataclasses.dataclass(slots=True)
class AllocatedState:
    """The devices and shares that no other claim may get."""

    devices: device_sets.DeviceSet = dataclasses.field(default_factory=device_sets.DeviceSet)
    """`driver/pool/device` of each device that one claim has for itself."""
    shares: device_sets.PartedMap[str, Mapping[str, Consumption]] = dataclasses.field(
        default_factory=device_sets.PartedMap
    )
    """The consumption of each share, by `driver/pool/device` and share ID."""

    def copy(self) -> "AllocatedState":
        return AllocatedState(self.devices.copy(), self.shares.copy())

    def freed_since(self, older: "AllocatedState") -> Iterator[str]:
        """Yield the devices of an older state that are free now, or shared by other claims."""
        yield from self.devices.lost_since(older.devices)
        yield from self.shares.changed_since(older.shares)

    def add(self, allocation: Object | None) -> None:
        """Add what an AllocationResult holds; None holds nothing."""
        for device in claims.exclusive_devices(allocation):
            self.devices.add(device)
        for device, share, consumed in claims.shares(allocation):
            self.shares[device] = {**self.shares.get(device, {}), share: consumed}

    def remove(self, allocation: Object | None) -> None:
        """Remove what an AllocationResult holds; what is not known is ignored."""
        for device in claims.exclusive_devices(allocation):
            self.devices.discard(device)
        for device, share, _ in claims.shares(allocation):
            held = {
                key: value for key, value in self.shares.get(device, {}).items() if key != share
            }
            if held:
                self.shares[device] = held
            else:
                self.shares.pop(device, None)

    def used(self) -> Iterator[str]:
        """Yield each device of which a claim has the whole or a share."""
        yield from self.devices
        yield from self.shares

    def is_used(self, device: str) -> bool:
        return device in self.devices or device in self.shares
