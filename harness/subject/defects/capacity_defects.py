"""Known defects of the allocator: what requests take of the capacities of shared devices."""

from decimal import Decimal

from harness.extensions import replacements
from harness.subject.allocation import (
    allocators,
    capacities,
    device_requests,
    devices,
    holdings,
)
from harness.subject.objects import quantities

_WORDS = 2**64


class NegativeRules(capacities.Rules):
    """An amount below zero is as good as any other."""

    def held(self, text: object) -> Decimal:
        """Return the amount as the allocation says it."""
        return capacities.amount(text)

    def _is_possible(self, taken: quantities.Quantity) -> bool:
        del taken
        return True


class WrappingRules(NegativeRules):
    """A rounded amount of 2^63 and more becomes one below zero, as an int64 does."""

    def _stepped(
        self, least: quantities.Quantity, step: quantities.Quantity, asked: quantities.Quantity
    ) -> quantities.Quantity:
        rounded = super()._stepped(least, step, asked)
        wrapped = _int64(rounded.integer())
        if wrapped == rounded.integer():
            return rounded
        return quantities.of_integer(wrapped, is_binary=step.is_binary)

    def _is_between_steps(
        self, taken: quantities.Quantity, least: quantities.Quantity, step: quantities.Quantity
    ) -> bool:
        if taken.amount >= 0:
            return super()._is_between_steps(taken, least, step)
        return _int64(taken.integer() - least.integer()) % step.integer() != 0


def _int64(number: int) -> int:
    return (number + _WORDS // 2) % _WORDS - _WORDS // 2


class IntegerRules(capacities.Rules):
    """Minimum, step and request are rounded up to integers before the steps are counted."""

    def _stepped(
        self, least: quantities.Quantity, step: quantities.Quantity, asked: quantities.Quantity
    ) -> quantities.Quantity:
        whole = step.integer()
        steps = -(-(asked.integer() - least.integer()) // whole)
        return quantities.of_integer(least.integer() + steps * whole, is_binary=step.is_binary)

    def _is_between_steps(
        self, taken: quantities.Quantity, least: quantities.Quantity, step: quantities.Quantity
    ) -> bool:
        return (taken.integer() - least.integer()) % step.integer() != 0


class OldRules(WrappingRules, IntegerRules):
    """All of this, as up to 1.36.3."""


class _WrappingHoldings(holdings.Holdings):
    rules = WrappingRules()


class CapacityWrapsAllocator(allocators.Allocator):
    """A request for about 2^63 of a capacity takes less than nothing, and makes room for others.

    It is rounded up to the steps of the device's policy with an int64, which wraps around. So a
    device is given away for a request that it cannot satisfy, and any number of further shares fit.
    Seen with 1.36.3; fixed by kubernetes#140442.
    """

    facts = replacements.Facts(
        name="capacity-wraps",
        check="device_consumption",
        issues=("kubernetes#140441", "kubernetes#140442"),
        releases=replacements.Releases(first="1.34", last="1.36.3"),
        worlds=("largest-capacity",),
    )

    holdings_class = _WrappingHoldings


class _NegativeHoldings(holdings.Holdings):
    rules = NegativeRules()


class NegativeCapacityAllocator(allocators.Allocator):
    """A request for less than nothing of a capacity is allocated, and makes room for others.

    The API server accepts it, and the share is recorded with the amount. Seen with 1.36.3. The
    allocator refuses such requests since kubernetes#140442; the API server still accepts them.
    """

    facts = replacements.Facts(
        name="negative-capacity",
        check="device_consumption",
        issues=("kubernetes#140468",),
        releases=replacements.Releases(first="1.34", last="1.36.3"),
        worlds=("negative-capacity",),
    )

    holdings_class = _NegativeHoldings


class _IntegerHoldings(holdings.Holdings):
    rules = IntegerRules()


class RangesInIntegersAllocator(allocators.Allocator):
    """Steps of less than one are counted as one, so that requests take more than they need.

    With a step of 500m, a request for 1500m takes 2, and a device is full too early. Fixed by
    kubernetes#140161, behind the gate DRAFractionalCapacityRange.
    """

    facts = replacements.Facts(
        name="ranges-in-integers",
        check="granted_shares",
        issues=("kubernetes#140160", "kubernetes#140161"),
        releases=replacements.Releases(first="1.34", last="1.36.3"),
        worlds=("steps-of-a-half",),
    )

    holdings_class = _IntegerHoldings


# ------------------------------------------------------------------ which devices


class AllInPartAllocator(allocators.Allocator):
    """A request for all devices leaves out those whose capacity is used up.

    "All" means each device that matches, and has enough capacity as long as it is not in use; if
    one of them cannot be had, the node cannot satisfy the request. Fixed by kubernetes#140769.
    """

    facts = replacements.Facts(
        name="all-in-part",
        check="requested_results",
        issues=("kubernetes#140769",),
        releases=replacements.Releases(first="1.34", last="1.36.3"),
        worlds=("all-of-shared-devices",),
    )

    def _counts(
        self, held: holdings.Holdings, option: device_requests.Option, device: devices.Device
    ) -> bool:
        return held.choice(0, option, device) is not None


class ShareTakenWholeHoldings(holdings.Holdings):
    """A device that cannot be shared any more is free, if its shares say no capacity that it has.

    Otherwise the whole capacity that a claim for the device takes is too much.
    """

    def is_allocated(self, device: devices.Device) -> bool:
        """Return whether a claim has the device for itself, or capacity of it that it has now."""
        if device.id in self._allocated.devices:
            return True
        used = {} if device.is_shared else self.used_capacity(device)
        return any(used.get(name) for name in device.document.get("capacity") or ())


class ShareTakenWholeAllocator(allocators.Allocator):
    """A device is given to a claim alone while others have shares of it.

    The allocator asks only which devices are allocated as a whole. When a driver publishes that
    a device cannot be shared any more, shares without consumed capacity are overlooked. Seen with
    1.34.2, 1.35.6, 1.36.2 and 1.36.3; fixed by kubernetes#140798. karpenter's copy of the allocator
    has the same mistake.
    """

    facts = replacements.Facts(
        name="share-taken-whole",
        issues=("kubernetes#140797", "karpenter#3213"),
        releases=replacements.Releases(first="1.34", last="1.36.3"),
        worlds=("shared-no-more",),
    )

    holdings_class = ShareTakenWholeHoldings
