"""Structured allocation: the devices of a pod's claims on a node, by first fit with backtracking.

After k8s.io/dynamic-resource-allocation/structured. One Allocator serves one scheduling attempt. It
does not change: what a search chooses, it keeps to itself, so that `allocate` may be called for
several nodes at the same time.
"""

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

from harness import concurrency
from harness.client import informers
from harness.model.objects import Object
from harness.subject.allocation import (
    allocated_states,
    attributes,
    capacities,
    device_requests,
    devices,
    holdings,
    inventories,
    pools,
    results,
    searches,
)
from harness.subject.objects import quantities

AllocationError = device_requests.AllocationError
FILTER_TIMEOUT_S = 10.0
"""Time limit for the search on one node, in seconds, as upstream (`filter_timeout_s`)."""


class AllocationTimeoutError(AllocationError):
    """The search on a node took too long; a later attempt may do better."""


class AllocationCancelledError(AllocationError):
    """The search on a node is not needed any more."""


class Allocator:
    """Allocates devices that are not in use."""

    def __init__(
        self,
        snapshot: inventories.Snapshot,
        allocated: allocated_states.AllocatedState,
        classes: Mapping[str, Object],
        claims: Sequence[Object],
        *,
        search: type[searches.Search] = searches.Search,
        held: type[holdings.Holdings] = holdings.Holdings,
        rules: type[capacities.Rules] = capacities.Rules,
        timeout_s: float = FILTER_TIMEOUT_S,
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        """Resolve the requests of the claims; `classes` maps names to DeviceClasses.

        `timeout_s`: limit for the search on one node; 0: none. Raises AllocationError for a claim
        that cannot be allocated on any node.
        """
        self._snapshot, self._allocated, self._claims = snapshot, allocated, claims
        self._search_class, self._holdings_class, self._rules = search, held, rules()
        self._timeout_s, self._is_cancelled = timeout_s, is_cancelled
        self._requests = [
            request
            for index, claim in enumerate(claims)
            for request in device_requests.requests_of(index, claim, classes)
        ]
        self._constraints = [*_constraints(claims)]
        self._free_counters: dict[object, dict[devices.Counter, Decimal]] = {}

    def allocate(self, node: Object) -> list[Object] | None:
        """Return one AllocationResult per claim, or None if the node cannot satisfy all claims."""
        return self._allocate(self._snapshot.view(node), node)

    def _allocate(self, view: inventories.NodeView, node: Object) -> list[Object] | None:
        try:
            every = self._every(view)
        except device_requests.PoolNotReadyError as error:
            return self._refuse(error)
        self._require_few(every)
        problem = searches.Problem(self._requests, self._constraints, self._clock())
        search = self._search_class(problem, view, self._holdings(view), every.__getitem__)
        try:
            chosen = self._solution(search)
        except quantities.QuantityError as error:
            raise AllocationError(f"malformed quantity: {error}") from error
        if chosen is None:
            return None
        return [
            self._result(claim, [item for item in chosen if item.claim == index], node)
            for index, claim in enumerate(self._claims)
        ]

    def _result(self, claim: Object, chosen: Sequence[results.Choice], node: Object) -> Object:
        return results.result(claim, chosen, node, [*self._claim_config(claim, chosen)])

    def _claim_config(self, claim: Object, chosen: Sequence[results.Choice]) -> Iterable[Object]:
        return results.claim_config(claim, chosen)

    def _refuse(self, error: device_requests.PoolNotReadyError) -> list[Object] | None:
        """Rule out a node whose pools are not ready; others may have what is asked for."""
        del error
        return None

    def _solution(self, search: searches.Search) -> Sequence[results.Choice] | None:
        return search.chosen if search.run() else None

    def may_fail(self) -> bool:
        """Return whether `allocate` may raise an error on some node, other than for lack of time.

        True also if none does: a search need not look at the device on which a selector fails, and
        a node may have all devices that a request asks for.
        """
        options = [option for request in self._requests for option in request.options]
        return any(
            option.count is None or self._snapshot.failures.of_selectors(option.selectors)
            for option in options
        )

    def _holdings(self, view: inventories.NodeView) -> holdings.Holdings:
        return self._holdings_class(
            self._allocated, lambda device: self._free(view, device), self._rules
        )

    def _clock(self) -> Callable[[], None]:
        limit_s = concurrency.monotonic_s() + (self._timeout_s or math.inf)

        def check() -> None:
            if self._is_cancelled():
                raise AllocationCancelledError("asked by caller to stop allocating devices")
            if concurrency.monotonic_s() > limit_s:
                raise AllocationTimeoutError("timed out trying to allocate devices")

        return check

    # ------------------------------------------------------------------- all devices

    def _every(
        self, view: inventories.NodeView
    ) -> dict[device_requests.Option, tuple[devices.Device, ...]]:
        """Return the devices of each option that asks for all. Raises PoolNotReadyError."""
        return {
            option: tuple(self._all_devices(view, option))
            for request in self._requests
            for option in request.options
            if option.count is None
        }

    def _all_devices(
        self, view: inventories.NodeView, option: device_requests.Option
    ) -> Iterator[devices.Device]:
        for pool in view.pools:
            if pool.fault is not None:
                state = pool.fault if not pool.is_invalid else f"is currently invalid: {pool.fault}"
                raise device_requests.PoolNotReadyError(
                    f"request {option.name}: asks for all devices, but resource pool"
                    f" {'/'.join(pool.pool.key)} {state}"
                )
        held = self._holdings(view)
        for device in view.devices:
            if device.satisfies(option.selectors) and self._counts(held, option, device):
                yield device

    def _counts(
        self, held: holdings.Holdings, option: device_requests.Option, device: devices.Device
    ) -> bool:
        return held.is_enough(option, device)

    def _require_few(
        self, every: Mapping[device_requests.Option, tuple[devices.Device, ...]]
    ) -> None:
        for index, claim in enumerate(self._claims):
            wanted = (request.options for request in self._requests if request.claim == index)
            least = sum(min(it.count or len(every[it]) for it in options) for options in wanted)
            if least > device_requests.DEVICES_PER_CLAIM_MAX:
                name = informers.key_of(claim)
                raise AllocationError(
                    f"claim {name}: number of requested devices {least} exceeds the claim limit"
                    f" of {device_requests.DEVICES_PER_CLAIM_MAX}"
                )

    # ------------------------------------------------------------------- counters

    def _free(
        self, view: inventories.NodeView, device: devices.Device
    ) -> dict[devices.Counter, Decimal]:
        pool = next(part.pool for part in view.pools if part.pool.key == device.pool)
        if pool not in self._free_counters:
            self._free_counters[pool] = self._uncharged(view, pool)
        return self._free_counters[pool]

    def _uncharged(
        self, view: inventories.NodeView, pool: pools.Pool
    ) -> dict[devices.Counter, Decimal]:
        if self._unknown_use_of(pool):
            return dict.fromkeys(pool.counters, Decimal(-1))
        free = dict(pool.counters)
        for consumer in self._consumers(view, pool):
            if self._is_counted(consumer):
                for counter, amount in consumer.consumes:
                    free[counter] -= self._charged(amount)
        return free

    def _unknown_use_of(self, pool: pools.Pool) -> bool:
        """Return whether a device in use is one that the pool does not offer any more.

        It is not known what it consumes of the counters: nothing that needs some is given away
        until it is free, as the partitions of a GPU must not overlap.
        """
        return pool.key in self._pools_of_gone_devices

    @functools.cached_property
    def _pools_of_gone_devices(self) -> frozenset[devices.PoolKey]:
        return frozenset(self._snapshot.pools_without(self._allocated.used()))

    def _charged(self, amount: Decimal) -> Decimal:
        """Return what a device in use takes of a counter, which is never less than nothing."""
        return max(amount, Decimal(0))

    def _consumers(self, view: inventories.NodeView, pool: pools.Pool) -> Iterable[devices.Device]:
        del view
        return pool.consumers()

    def _is_counted(self, consumer: devices.Device) -> bool:
        return self._allocated.is_used(consumer.id)


def _constraints(claims: Sequence[Object]) -> Iterator[tuple[attributes.Constraint, ...]]:
    for claim in claims:
        try:
            yield attributes.constraints_of(claim)
        except attributes.UnknownConstraintError as error:
            raise AllocationError(f"claim {claim['metadata']['name']}: {error}") from error
