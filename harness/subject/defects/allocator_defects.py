"""Known defects of the allocator and its search: requests, results, shares and errors."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from harness import concurrency
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
    results,
    searches,
)
from harness.subject.defects import panics


@replacements.known_as("admin-device-twice")
class AdminIgnoresItselfHoldings(holdings.Holdings):
    def is_held(self, claim: int, option: device_requests.Option, device: devices.Device) -> bool:
        return not option.admin_access and super().is_held(claim, option, device)


@replacements.known_as("counters-of-one-node")
class CountersOfOneNodeAllocator(allocators.Allocator):
    def _free(
        self, view: inventories.NodeView, device: devices.Device
    ) -> dict[devices.Counter, Decimal]:
        self._free_counters = {}  # they are of another node
        return super()._free(view, device)

    def _consumers(self, view: inventories.NodeView, pool: pools.Pool) -> Iterable[devices.Device]:
        seen = {device.id for device in view.devices}
        return [device for device in super()._consumers(view, pool) if device.id in seen]


@replacements.known_as("selectors-not-asked")
class SelectorsNotAskedSearch(searches.Search):
    def _taking(
        self, claim: int, option: device_requests.Option, device: devices.Device, position: int
    ) -> searches.Take | None:
        unselective = dataclasses.replace(option, selectors=())
        return super()._taking(claim, unselective, device, position)


@replacements.known_as("constraints-not-asked")
class ConstraintsNotAskedSearch(searches.Search):
    def _accepted(
        self, claim: int, option: device_requests.Option, device: devices.Device
    ) -> tuple[attributes.State, ...] | None:
        del option, device
        return self._constraint_states(claim)


@replacements.known_as("one-device-enough")
class OneDeviceEnoughSearch(searches.Search):
    def _beginnings(self) -> Iterator[searches.Begin]:
        for move in super()._beginnings():
            yield dataclasses.replace(move, needed=1)


_SHARE = "b1d3c8f0-6f0e-4c4e-9a55-0c8f6a1f3e77"
"""Any share ID."""


@replacements.known_as("admin-access-for-all")
class AdminAccessForAllAllocator(allocators.Allocator):
    def _allocate(self, view: inventories.NodeView, node: Object) -> list[Object] | None:
        return _with(super()._allocate(view, node), {"adminAccess": True})


@replacements.known_as("whole-devices-shared")
class WholeDevicesSharedAllocator(allocators.Allocator):
    def _allocate(self, view: inventories.NodeView, node: Object) -> list[Object] | None:
        return _with(super()._allocate(view, node), {"shareID": _SHARE})


@replacements.known_as("node-selector-not-written")
class NodeSelectorNotWrittenAllocator(allocators.Allocator):
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


@replacements.known_as("shares-not-gathered")
class SharesNotGatheredAllocator(allocators.Allocator):
    def _is_counted(self, consumer: devices.Device) -> bool:
        return consumer.id in self._allocated.devices


@replacements.known_as("tolerations-lost")
class TolerationsLostAllocator(allocators.Allocator):
    def _result(self, claim: Object, chosen: Sequence[results.Choice], node: Object) -> Object:
        found = super()._result(claim, chosen, node)
        for row in found["devices"]["results"]:
            row.pop("tolerations", None)
        return found


@replacements.known_as("config-repeated")
class ConfigRepeatedAllocator(allocators.Allocator):
    def _claim_config(self, claim: Object, chosen: Sequence[results.Choice]) -> Iterator[Object]:
        for item in super()._claim_config(claim, chosen):
            yield from [item] * max(len(results.users_of(item, chosen)), 1)


@replacements.known_as("config-widened")
class ConfigWidenedAllocator(allocators.Allocator):
    def _claim_config(self, claim: Object, chosen: Sequence[results.Choice]) -> Iterable[Object]:
        total = len(claim["spec"]["devices"]["requests"])
        for item in super()._claim_config(claim, chosen):
            if len(item.get("requests") or ()) == total:
                yield {key: value for key, value in item.items() if key != "requests"}
            else:
                yield item


@replacements.known_as("all-ends-attempt")
class AllEndsAttemptAllocator(allocators.Allocator):
    def _refuse(self, error: device_requests.PoolNotReadyError) -> list[Object] | None:
        raise error


# ------------------------------------------------------------------ counters


@replacements.known_as("all-with-counters")
class AllWithCountersSearch(searches.Search):
    def _next_of_all(self, every: tuple[devices.Device, ...]) -> Iterator[searches.Take]:
        device = every[self._taken[-1]]
        if device.consumes:
            raise panics.nil_dereference(f"the pool of device {device.id}")
        yield from super()._next_of_all(every)


# ------------------------------------------------------------------ requests and constraints


@replacements.known_as("all-among-alternatives")
class AllAmongAlternativesAllocator(allocators.Allocator):
    def _allocate(self, view: inventories.NodeView, node: Object) -> list[Object] | None:
        every = self._every(view)
        return super()._allocate(view, node) if all(every.values()) else None


# ------------------------------------------------------------------ parallel Filter calls


@replacements.known_as("filter-shares-call-state")
class FilterSharesCallStateAllocator(allocators.Allocator):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._guard = concurrency.lock("allocator.call")
        """Protects nothing but the field itself."""
        self._search: searches.Search | None = None

    def _solution(self, search: searches.Search) -> Sequence[results.Choice] | None:
        with self._guard:
            self._search = search
        with self._guard:
            current = self._search
        return super()._solution(current)
