"""Known defects of the allocator: what devices and shares are charged of the counters of a pool."""

from collections.abc import Iterator
from decimal import Decimal
from typing import ClassVar

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


class ShareChargedAgainHoldings(holdings.Holdings):
    """A device in shares without consumed capacity is charged again for the next share."""

    def _takes_counters(self, device: devices.Device) -> bool:
        if super()._takes_counters(device):
            return True
        held = self._allocated.shares.get(device.id, {})
        is_unseen = bool(held) and not any(held.values()) and not self.shares(device)
        return bool(device.is_shared and device.consumes) and is_unseen


class ShareChargedAgainAllocator(allocators.Allocator):
    """Another share of a device is charged its counters again, if the others say no capacity.

    The allocator knows a device in shares by the sum of their consumed capacity. A device without
    capacities has none, so that each attempt wants its counters once more: when they do not suffice
    for it twice, no claim gets a second share, and the pod waits. Since shares are gathered
    at all (kubernetes#139040); fixed by kubernetes#140437.
    """

    facts = replacements.Facts(
        name="share-charged-again",
        check="claim_progress",
        issues=("kubernetes#140433", "kubernetes#140437"),
        releases=replacements.Releases(first="1.36.2", last="1.36.3"),
        worlds=("second-share-with-counters",),
    )

    holdings_class = ShareChargedAgainHoldings


class EachShareChargedHoldings(holdings.Holdings):
    """Every share of a device is charged its counters."""

    def _takes_counters(self, device: devices.Device) -> bool:
        return bool(device.consumes)


class EachShareChargedAllocator(allocators.Allocator):
    """Each share of a device takes the device's counters, not only the first one.

    A claim for two shares is not allocated when the counters suffice for the device once. 1.34 does
    this; since 1.35, a device that has been chosen for a share is not charged again
    (kubernetes#134103).
    """

    facts = replacements.Facts(
        name="each-share-charged",
        check="claim_progress",
        issues=("kubernetes#134100", "kubernetes#134103"),
        releases=replacements.Releases(first="1.34", last="1.34"),
        worlds=("two-shares-with-counters", "second-share-with-counters"),
    )

    holdings_class = EachShareChargedHoldings


# ------------------------------------------------------------------ admin access


class AdminAccessChargedHoldings(holdings.Holdings):
    """Admin access takes counters as any other use does."""

    def is_owned(self, device: devices.Device) -> bool:
        """Return whether the search has taken the device, or a share, also for admin access."""
        return bool(self.holders(device) or self.shares(device))

    def _is_charged(self, option: device_requests.Option, device: devices.Device) -> bool:
        del option
        return self._takes_counters(device)


class AdminAccessChargedAllocator(allocators.Allocator):
    """A request with admin access is charged the counters of its device, as if it were free.

    The claim that uses the device has taken them, so that a pod which monitors it waits until it is
    free. In all releases with counters (kubernetes#140729).
    """

    facts = replacements.Facts(
        name="admin-access-charged",
        check="claim_progress",
        issues=("kubernetes#140729",),
        releases=replacements.Releases(first="1.33", last="1.37", is_open=True),
        worlds=("monitor-with-counters",),
    )

    holdings_class = AdminAccessChargedHoldings


# ------------------------------------------------------------------ amounts


class NegativeCountersHoldings(holdings.Holdings):
    """A device whose consumption is below zero is taken, and then there is more than before."""

    def _has_counters(self, device: devices.Device) -> bool:
        free = self._counters_of(device)
        return all(amount <= free[counter] for counter, amount in device.consumes)


class NegativeCountersAllocator(allocators.Allocator):
    """A device that consumes less than nothing of a counter makes room for others.

    Validation accepts the amount, and the allocator subtracts it, so that 20 of 10 are given out.
    In all releases with counters; seen with 1.35.6, 1.36.2 and 1.36.3.
    """

    facts = replacements.Facts(
        name="negative-counters",
        check="device_consumption",
        issues=("kubernetes#141216",),
        releases=replacements.Releases(first="1.33", last="1.37", is_open=True),
        worlds=("negative-counters",),
    )

    holdings_class: ClassVar[type[holdings.Holdings]] = NegativeCountersHoldings

    def _charged(self, amount: Decimal) -> Decimal:
        return amount


_DECIMALS_FROM = 100 * 2**40
"""About the amount from which Go keeps a quantity of bytes behind a pointer: `100Ti`."""


class CountersChangedHoldings(holdings.Holdings):
    """A large device that is refused consumes nothing from then on."""

    def _has_counters(self, device: devices.Device) -> bool:
        if super()._has_counters(device):
            return True
        device.consumes = tuple(_refused(device))
        return False


def _refused(device: devices.Device) -> Iterator[tuple[devices.Counter, Decimal]]:
    for counter, amount in device.consumes:
        yield counter, Decimal(0) if amount >= _DECIMALS_FROM else amount


class CountersChangedAllocator(allocators.Allocator):
    """The allocator computes with the quantities of the informer's slices, and changes them.

    A copied Quantity of Go shares its digits with the original if it does not fit into a machine
    word, as `100Ti`. So declared counters shrink with every attempt, and pods wait. Worse than was
    reported, a device that was refused for want of counters consumes nothing from then on:
    partitions that overlap are given away. Seen with 1.36.2 and 1.36.3. The counters are mended by
    kubernetes#140518, capacities, with the same mistake, by kubernetes#140702.
    """

    facts = replacements.Facts(
        name="counters-changed",
        check="device_consumption",
        issues=("kubernetes#140518", "kubernetes#140702"),
        releases=replacements.Releases(first="1.34", last="1.36.3"),
        worlds=("large-counters",),
    )

    holdings_class: ClassVar[type[holdings.Holdings]] = CountersChangedHoldings

    def _uncharged(
        self, view: inventories.NodeView, pool: pools.Pool
    ) -> dict[devices.Counter, Decimal]:
        free = super()._uncharged(view, pool)
        for counter, amount in free.items():
            if pool.counters[counter] >= _DECIMALS_FROM:
                pool.counters[counter] = amount
        return free


# ------------------------------------------------------------------ devices that left


class GoneDeviceNotCountedAllocator(allocators.Allocator):
    """A device in use that has left the slices of its pool takes no counters.

    The allocator reads from the slices as they are now how much devices consume. When a driver
    publishes a pool again without a partition that a claim holds, its counters look free, and
    partitions that overlap with it are given away. In all releases with counters; seen with 1.35.6,
    1.36.2 and 1.36.3.
    """

    facts = replacements.Facts(
        name="gone-device-not-counted",
        check="device_consumption",
        issues=("kubernetes#140802", "kubernetes#140806"),
        releases=replacements.Releases(first="1.33", last="1.37", is_open=True),
        worlds=("partition-left",),
    )

    def _unknown_use_of(self, pool: pools.Pool) -> bool:
        del pool
        return False
