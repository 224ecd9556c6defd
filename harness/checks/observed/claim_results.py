"""The devices that a claim holds, as its allocation says, and what it asked of each capacity."""

import msgspec

from harness.checks.observed import observed_claims

Quantities = tuple[tuple[str, str], ...]
"""Name and quantity of capacities."""


class Share(msgspec.Struct, frozen=True):
    """A share of a device."""

    written: Quantities = ()
    """Its consumption, as the scheduler wrote it."""
    asked: Quantities | None = None
    """The quantities that its request asks for; None: the claim has no such request."""


class Held(msgspec.Struct, frozen=True):
    """How a claim holds a device. With admin access alone, neither exclusively nor by a share."""

    exclusive: bool = False
    """The claim has the device for itself."""
    shared: bool = False
    """The claim has a share of the device; other claims may have others."""
    shares: tuple[Share, ...] = ()

    def joined(self, other: "Held") -> "Held":
        """Return how the device is held by two results together."""
        return Held(
            self.exclusive or other.exclusive,
            self.shared or other.shared,
            self.shares + other.shares,
        )


_NOT = Held()
EXCLUSIVE = Held(exclusive=True)


def held(
    allocation: observed_claims.Allocation | None, asked: observed_claims.DeviceClaim
) -> dict[str, Held]:
    """Return `driver/pool/device` -> how it is held, for an allocation; None holds nothing.

    A device with several results is exclusive if one of them is.
    """
    found: dict[str, Held] = {}
    if allocation is not None and len(allocation.devices.results) == 1:
        [item] = allocation.devices.results
        return {item.id: _of(item, asked)}
    for item in allocation.devices.results if allocation else []:
        how = _of(item, asked)
        found[item.id] = found[item.id].joined(how) if item.id in found else how
    return found


def is_exclusive(*, admin: bool | None, share: str | None) -> bool:
    """Return True if an allocation result gives its device to one claim alone.

    Results with `adminAccess` or a `shareID` do not. An empty `shareID` counts as unset.
    """
    return not admin and not share


def _of(item: observed_claims.AllocationResult, asked: observed_claims.DeviceClaim) -> Held:
    if is_exclusive(admin=item.admin_access, share=item.share):
        return EXCLUSIVE
    if item.admin_access:
        return _NOT
    request = asked.option(item.request)
    wanted = None if request is None else tuple(request.quantities.items())
    return Held(shared=True, shares=(Share(tuple((item.consumed_capacity or {}).items()), wanted),))
