"""Known defects of the allocator: what devices and shares take of counters and capacities."""

from collections.abc import Iterator
from decimal import Decimal

from harness.extensions import replacements
from harness.subject.allocation import (
    allocators,
    capacities,
    device_requests,
    devices,
    holdings,
    inventories,
    pools,
)
from harness.subject.objects import quantities

# ------------------------------------------------------------------ shares


@replacements.known_as("share-charged-again")
class ShareChargedAgainHoldings(holdings.Holdings):
    def _takes_counters(self, device: devices.Device) -> bool:
        if super()._takes_counters(device):
            return True
        held = self._allocated.shares.get(device.id, {})
        is_unseen = bool(held) and not any(held.values()) and not self.shares(device)
        return bool(device.is_shared and device.consumes) and is_unseen


@replacements.known_as("each-share-charged")
class EachShareChargedHoldings(holdings.Holdings):
    def _takes_counters(self, device: devices.Device) -> bool:
        return bool(device.consumes)


# ------------------------------------------------------------------ admin access


@replacements.known_as("admin-access-charged")
class AdminAccessChargedHoldings(holdings.Holdings):
    def _has_share(self, device: devices.Device) -> bool:
        return bool(self.shares(device))

    def _is_charged(self, option: device_requests.Option, device: devices.Device) -> bool:
        del option
        return self._takes_counters(device)


# ------------------------------------------------------------------ amounts


@replacements.known_as("negative-counters")
class NegativeCountersHoldings(holdings.Holdings):
    def _has_counters(self, device: devices.Device) -> bool:
        free = self._counters_of(device)
        return all(amount <= free[counter] for counter, amount in device.consumes)


@replacements.known_as("negative-counters")
class NegativeCountersAllocator(allocators.Allocator):
    def _charged(self, amount: Decimal) -> Decimal:
        return amount


_DECIMALS_FROM = 100 * 2**40
"""About the amount from which Go keeps a quantity of bytes behind a pointer: `100Ti`."""


@replacements.known_as("counters-changed")
class CountersChangedHoldings(holdings.Holdings):
    def _has_counters(self, device: devices.Device) -> bool:
        if super()._has_counters(device):
            return True
        device.consumes = tuple(_refused(device))
        return False


def _refused(device: devices.Device) -> Iterator[tuple[devices.Counter, Decimal]]:
    for counter, amount in device.consumes:
        yield counter, Decimal(0) if amount >= _DECIMALS_FROM else amount


@replacements.known_as("counters-changed")
class CountersChangedAllocator(allocators.Allocator):
    def _uncharged(
        self, view: inventories.NodeView, pool: pools.Pool
    ) -> dict[devices.Counter, Decimal]:
        free = super()._uncharged(view, pool)
        for counter, amount in free.items():
            if pool.counters[counter] >= _DECIMALS_FROM:
                pool.counters[counter] = amount
        return free


# ------------------------------------------------------------------ devices that left


@replacements.known_as("gone-device-not-counted")
class GoneDeviceNotCountedAllocator(allocators.Allocator):
    def _unknown_use_of(self, pool: pools.Pool) -> bool:
        del pool
        return False


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
