"""The devices that a claim holds, as its allocation says."""

import dataclasses

import msgspec

from harness.checks import live_spotter
from harness.model import devices


class Result(msgspec.Struct):
    """An entry of `status.allocation.devices.results`."""

    driver: str
    pool: str
    device: str
    adminAccess: bool | None = None  # noqa: N815 - the API's spelling
    shareID: str | None = None  # noqa: N815
    consumedCapacity: dict[str, str] | None = None  # noqa: N815


class Devices(msgspec.Struct):
    """The `devices` of an allocation."""

    results: list[Result] = []


class Allocation(msgspec.Struct):
    """The `status.allocation` of a claim."""

    devices: Devices = msgspec.field(default_factory=Devices)


@dataclasses.dataclass(frozen=True, slots=True)
class Held:
    """How a claim holds a device. With admin access alone, neither exclusively nor by a share."""

    exclusive: bool = False
    """The claim has the device for itself."""
    shared: bool = False
    """The claim has a share of the device; other claims may have others."""
    consumed: tuple[tuple[str, str], ...] = ()
    """Name and quantity of each capacity that its shares consume; names can occur twice."""

    def joined(self, other: "Held") -> "Held":
        """Return how the device is held by two results together."""
        return Held(
            self.exclusive or other.exclusive,
            self.shared or other.shared,
            self.consumed + other.consumed,
        )


_NOT = Held()


def held(allocation: Allocation | None) -> dict[str, Held]:
    """Return `driver/pool/device` -> how it is held, for an allocation; None holds nothing.

    A device with several results is exclusive if one of them is.
    """
    found: dict[str, Held] = {}
    for item in allocation.devices.results if allocation else []:
        device = str(devices.DeviceID(item.driver, item.pool, item.device))
        found[device] = found.get(device, _NOT).joined(_of(item))
    return found


def _of(item: Result) -> Held:
    if live_spotter.is_exclusive(admin=item.adminAccess, share=item.shareID):
        return Held(exclusive=True)
    if item.adminAccess:
        return _NOT
    return Held(shared=True, consumed=tuple((item.consumedCapacity or {}).items()))
