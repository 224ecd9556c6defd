"""Known defects of the allocator: requests, results, shares and counters."""

import dataclasses
from collections.abc import Iterable, Iterator
from decimal import Decimal

from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.allocation import (
    allocators,
    attributes,
    device_requests,
    devices,
    holdings,
    inventories,
    pools,
    searches,
)


class _AdminIgnoresItselfHoldings(holdings.Holdings):
    def is_held(self, claim: int, option: device_requests.Option, device: devices.Device) -> bool:
        return not option.admin_access and super().is_held(claim, option, device)


class AdminDeviceTwiceAllocator(allocators.Allocator):
    """Requests with admin access ignore what their own claim has got, as they ignore other claims.

    So two such requests of a claim get the same device, although there are others. kube-scheduler
    did this up to 1.32 (kubernetes#131269); since then a claim never gets a device twice
    (kubernetes#131299).
    """

    facts = replacements.Facts(
        name="admin-device-twice",
        check="distinct_devices",
        issues=("kubernetes#131269",),
        releases=replacements.Releases(last="1.32"),
    )

    holdings_class = _AdminIgnoresItselfHoldings


class CountersOfOneNodeAllocator(allocators.Allocator):
    """Only devices that the node can use count when the free counters of a pool are computed.

    In a pool whose devices are on different nodes, each node consumes the counters as if it had
    them alone. No release is known to be affected. The allocator of 1.34 has a related mistake: it
    computes free counters slice by slice; since 1.36 it takes all slices of a pool together.
    """

    facts = replacements.Facts(
        name="counters-of-one-node",
        check="device_consumption",
    )

    def _free(
        self, view: inventories.NodeView, device: devices.Device
    ) -> dict[devices.Counter, Decimal]:
        self._free_counters = {}  # they are of another node
        return super()._free(view, device)

    def _consumers(self, view: inventories.NodeView, pool: pools.Pool) -> Iterable[devices.Device]:
        seen = {device.id for device in view.devices}
        return [device for device in super()._consumers(view, pool) if device.id in seen]


class _SelectorsNotAskedSearch(searches.Search):
    def _taking(
        self, claim: int, option: device_requests.Option, device: devices.Device, position: int
    ) -> searches.Take | None:
        unselective = dataclasses.replace(option, selectors=())
        return super()._taking(claim, unselective, device, position)


class SelectorsNotAskedAllocator(allocators.Allocator):
    """The selectors of requests and classes are not asked: a claim gets any device of its node.

    So a claim for a quarter of a GPU gets a whole one, and a claim for one kind of device another
    kind. A mutant; no release is known to be affected.
    """

    facts = replacements.Facts(
        name="selectors-not-asked",
        check="selected_devices",
    )

    search_class = _SelectorsNotAskedSearch


class _ConstraintsNotAskedSearch(searches.Search):
    def _accepted(
        self, claim: int, option: device_requests.Option, device: devices.Device
    ) -> tuple[attributes.State, ...] | None:
        del option, device
        return self._constraint_states(claim)


class ConstraintsNotAskedAllocator(allocators.Allocator):
    """The constraints of claims are not asked: `matchAttribute` and `distinctAttribute` do nothing.

    So a claim for a GPU and a network card of one NUMA node gets them from two. A mutant; releases
    up to 1.36.2 have related mistakes, in what a search that gives a device up again remembers of
    it.
    """

    facts = replacements.Facts(
        name="constraints-not-asked",
        check="claim_constraints",
    )

    search_class = _ConstraintsNotAskedSearch


class _OneDeviceEnoughSearch(searches.Search):
    def _beginnings(self) -> Iterator[searches.Begin]:
        for move in super()._beginnings():
            yield dataclasses.replace(move, needed=1)


class OneDeviceEnoughAllocator(allocators.Allocator):
    """A request is satisfied by one device, however many it asks for.

    A mutant; no release is known to be affected.
    """

    facts = replacements.Facts(
        name="one-device-enough",
        check="requested_results",
    )

    search_class = _OneDeviceEnoughSearch


_SHARE = "b1d3c8f0-6f0e-4c4e-9a55-0c8f6a1f3e77"
"""Any share ID."""


class AdminAccessForAllAllocator(allocators.Allocator):
    """Every result has admin access, whether its request asks for it or not.

    Results with admin access do not count as allocated, so the scheduler gives each device away
    again and again, and no check of exclusivity may call that a double allocation. A mutant; no
    release is known to be affected.
    """

    facts = replacements.Facts(
        name="admin-access-for-all",
        check="granted_access",
    )

    def _allocate(self, view: inventories.NodeView, node: Object) -> list[Object] | None:
        return _with(super()._allocate(view, node), {"adminAccess": True})


class WholeDevicesSharedAllocator(allocators.Allocator):
    """Every result without a share ID gets one, as if its device could be shared.

    A mutant; no release is known to be affected.
    """

    facts = replacements.Facts(
        name="whole-devices-shared",
        check="granted_shares",
    )

    def _allocate(self, view: inventories.NodeView, node: Object) -> list[Object] | None:
        return _with(super()._allocate(view, node), {"shareID": _SHARE})


class NodeSelectorNotWrittenAllocator(allocators.Allocator):
    """Allocations have no node selector, as if their devices could be reached from every node.

    Another pod that uses such a claim may be bound to any node. A mutant; no release is known to be
    affected.
    """

    facts = replacements.Facts(
        name="node-selector-not-written",
        check="reachable_devices",
        worlds=("allocation-freed-for-another-pod",),
    )

    def _allocate(self, view: inventories.NodeView, node: Object) -> list[Object] | None:
        found = super()._allocate(view, node)
        for allocation in found or ():
            allocation.pop("nodeSelector", None)
        return found


def _with(found: list[Object] | None, fields: Object) -> list[Object] | None:
    for allocation in found or ():
        devices = allocation["devices"]
        devices["results"] = [{**fields, **row} for row in devices.get("results") or ()]
    return found


class SharesNotGatheredAllocator(allocators.Allocator):
    """Devices that are in use by shares only do not count when the free counters are computed.

    Another partition that overlaps with such a device can be allocated. Affects kube-scheduler
    1.34 and 1.35 (seen with 1.34.9 and 1.35.6), whose gathered state begins without the IDs of
    allocated shares; fixed in 1.36 (kubernetes#139040).
    """

    facts = replacements.Facts(
        name="shares-not-gathered",
        check="device_consumption",
        issues=("kubernetes#139034",),
        releases=replacements.Releases(first="1.34", last="1.35"),
    )

    def _is_counted(self, consumer: devices.Device) -> bool:
        return consumer.id in self._allocated.devices
