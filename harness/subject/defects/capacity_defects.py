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


@replacements.known_as("negative-capacity")
class NegativeRules(capacities.Rules):
    def held(self, text: object) -> Decimal:
        return capacities.amount(text)

    def _is_possible(self, taken: quantities.Quantity) -> bool:
        del taken
        return True


@replacements.known_as("capacity-wraps")
class WrappingRules(NegativeRules):
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


@replacements.known_as("ranges-in-integers")
class IntegerRules(capacities.Rules):
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


# ------------------------------------------------------------------ which devices


@replacements.known_as("all-in-part")
class AllInPartAllocator(allocators.Allocator):
    def _counts(
        self, held: holdings.Holdings, option: device_requests.Option, device: devices.Device
    ) -> bool:
        return held.choice(0, option, device) is not None


@replacements.known_as("share-taken-whole")
class ShareTakenWholeHoldings(holdings.Holdings):
    def is_allocated(self, device: devices.Device) -> bool:
        if device.id in self._allocated.devices:
            return True
        used = {} if device.is_shared else self.used_capacity(device)
        return any(used.get(name) for name in device.document.get("capacity") or ())
