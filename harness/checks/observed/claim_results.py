"""The devices that a claim holds, as its allocation says."""

import dataclasses

from harness.checks.observed import observed_claims


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
EXCLUSIVE = Held(exclusive=True)


def held(allocation: observed_claims.Allocation | None) -> dict[str, Held]:
    """Return `driver/pool/device` -> how it is held, for an allocation; None holds nothing.

    A device with several results is exclusive if one of them is.
    """
    found: dict[str, Held] = {}
    if allocation is not None and len(allocation.devices.results) == 1:
        [item] = allocation.devices.results
        return {item.id: _of(item)}
    for item in allocation.devices.results if allocation else []:
        found[item.id] = found[item.id].joined(_of(item)) if item.id in found else _of(item)
    return found


def is_exclusive(*, admin: bool | None, share: str | None) -> bool:
    """Return True if an allocation result gives its device to one claim alone.

    Results with `adminAccess` or a `shareID` do not. An empty `shareID` counts as unset.
    """
    return not admin and not share


def _of(item: observed_claims.AllocationResult) -> Held:
    if is_exclusive(admin=item.admin_access, share=item.share):
        return EXCLUSIVE
    if item.admin_access:
        return _NOT
    return Held(shared=True, consumed=tuple((item.consumed_capacity or {}).items()))
