"""Known defects of the allocator: what devices and shares are charged of the counters of a pool."""

from collections.abc import Iterator
from decimal import Decimal

from harness.extensions import replacements
from harness.subject.allocation import (
    allocators,
    device_requests,
    devices,
    holdings,
    inventories,
    pools,
)

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
    def is_owned(self, device: devices.Device) -> bool:
        return bool(self.holders(device) or self.shares(device))

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
