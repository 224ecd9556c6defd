"""The DynamicResources plugin: what kube-scheduler does with the ResourceClaims of a pod, extension point by extension point.

The order of the writes and of the steps in `_bind_claim` is where double allocations are avoided or made.
"""

import dataclasses
import random
from collections.abc import Callable, Mapping
from typing import Any

from harness import concurrency
from harness.client import apis, informers, transports
from harness.subject import (
    allocators,
    assume_caches,
    claims,
    expressions,
    gathering,
    in_flight,
    inventories,
    nodes,
)

Object = dict[str, Any]
CONFLICT_TRIES = 5
CONFLICT_WAIT_S = 0.01


class Unschedulable(Exception):  # noqa: N818 - an answer, not an error
    """The pod cannot be scheduled now; says why."""


class BindingError(Exception):
    """The pod cannot be bound after all; it is tried again."""


@dataclasses.dataclass(slots=True)
class Attempt:
    """What one scheduling attempt knows of its pod (upstream: stateData in the CycleState)."""

    pod: Object
    claims: list[Object]
    """The pod's claims as the assume cache had them; replaced by what was written."""
    to_allocate: list[int] = dataclasses.field(default_factory=list)
    """Indexes of the claims without an allocation."""
    allocator: allocators.Allocator | None = None
    planned: dict[int, Object] = dataclasses.field(default_factory=dict)
    """The allocation for each of them on the chosen node."""
    unavailable: set[int] = dataclasses.field(default_factory=set)
    """Claims whose allocation kept some node out."""

    @property
    def name(self) -> str:
        """`namespace/name` of the pod."""
        return informers.key_of(self.pod)


class DynamicResources:
    """The plugin's state and its extension points."""

    def __init__(
        self,
        api: apis.Api,
        *,
        cache: assume_caches.AssumeCache,
        in_flight_claims: in_flight.InFlightClaims,
        gatherer: gathering.Gatherer,
        inventory: inventories.Inventory,
        classes: Callable[[], Mapping[str, Object]],
        choices: random.Random,
    ) -> None:
        self._api, self._cache, self._in_flight = api, cache, in_flight_claims
        self._gatherer, self._inventory, self._classes = gatherer, inventory, classes
        self._choices = choices

    # ---------------------------------------------------------- the scheduling thread

    def pre_enqueue(self, pod: Object) -> bool:
        """Whether all claims of the pod are there."""
        try:
            self._claims_of(pod)
        except claims.Unresolved:
            return False
        return True

    def pre_filter(self, pod: Object) -> Attempt:
        """Look at the claims and at what is in use; Unschedulable, or a hard error of a claim as it is written."""
        try:
            attempt = Attempt(pod, self._claims_of(pod))
        except claims.Unresolved as reason:
            raise Unschedulable(str(reason)) from reason
        for index, claim in enumerate(attempt.claims):
            if not claims.allocation_of(claim):
                self._require_rest(claim)
                attempt.to_allocate.append(index)
        if attempt.to_allocate:
            attempt.allocator = self._new_allocator(attempt)
        return attempt

    def filter(self, attempt: Attempt, node: Object) -> list[Object] | None:
        """The allocations that the pod would get on the node; None when it cannot run there."""
        misplaced = self._misplaced(attempt, node)
        attempt.unavailable |= misplaced
        if misplaced:
            return None
        return attempt.allocator.allocate(node) if attempt.allocator else []

    def post_filter(self, attempt: Attempt) -> None:
        """No node fits: give up one allocation that keeps the pod from its node and that nobody uses."""
        for index in self._choices.sample(sorted(attempt.unavailable), len(attempt.unavailable)):
            claim = attempt.claims[index]
            others = [
                entry
                for entry in claims.reservations_of(claim)
                if entry["uid"] != claims.uid_of(attempt.pod)
            ]
            if not others:
                concurrency.step("post-filter.deallocating", claim=claims.uid_of(claim))
                freed = claims.with_status(claim, allocation=None, reservedFor=None, devices=None)
                self._api.update_status(apis.CLAIMS, freed)
                return

    def reserve(self, attempt: Attempt, allocations: list[Object]) -> None:
        """Put the planned allocations in flight; nothing is written yet."""
        for index, allocation in zip(attempt.to_allocate, allocations, strict=True):
            claim = attempt.claims[index]
            attempt.planned[index] = allocation
            finalizers = [*claim["metadata"].get("finalizers", ())]
            if claims.FINALIZER not in finalizers:
                finalizers.append(claims.FINALIZER)
            planned = claims.with_metadata(claim, finalizers=finalizers)
            self._in_flight.add(claims.with_status(planned, allocation=allocation))

    def unreserve(self, attempt: Attempt) -> None:
        """Undo Reserve and reservations; allocations that were written stay."""
        for index, claim in enumerate(attempt.claims):
            uid = claims.uid_of(claim)
            concurrency.step("unreserve.started", claim=uid)
            if self._in_flight.remove(uid):
                self._cache.restore(informers.key_of(claim))
            if claims.allocation_of(claim) and claims.is_reserved_for(claim, attempt.pod):
                self._remove_reservation(attempt.claims[index], attempt.pod)

    # ------------------------------------------------------------- the binding threads

    def pre_bind(self, attempt: Attempt) -> None:
        """Write allocations and reservations; BindingError when that is impossible."""
        for index, claim in enumerate(attempt.claims):
            if not claims.is_reserved_for(claim, attempt.pod):
                attempt.claims[index] = self._bind_claim(attempt, index)

    def _bind_claim(self, attempt: Attempt, index: int) -> Object:
        claim, allocation = attempt.claims[index], attempt.planned.get(index)
        uid = claims.uid_of(claim)
        written: Object | None = None
        try:
            written = self._write(claim, allocation, attempt.pod)
        finally:
            self._settle(uid, written, was_planned=allocation is not None)
        return written

    def _settle(self, uid: str, written: Object | None, *, was_planned: bool) -> None:
        """First let the cache know, then forget the plan: the device must be visible in one of the two at every moment."""
        self._assume(uid, written)
        if was_planned and written is not None:  # a failed one is left to unreserve
            self._in_flight.remove(uid)

    def _assume(self, uid: str, written: Object | None) -> None:
        if written is None:
            return
        version = written["metadata"]["resourceVersion"]
        concurrency.step("pre-bind.written", claim=uid, version=version)
        try:
            self._cache.assume(written)
        except assume_caches.AssumeError as error:
            concurrency.step("pre-bind.not-assumed", claim=uid, reason=str(error))
        else:
            concurrency.step("pre-bind.assumed", claim=uid)

    def _write(self, claim: Object, allocation: Object | None, pod: Object) -> Object:
        """The claim with allocation and reservation as the API server has it now; tried again after a conflict."""
        for tries in range(CONFLICT_TRIES):
            if tries:
                concurrency.sleep(CONFLICT_WAIT_S)
                claim = self._api.get(
                    apis.CLAIMS,
                    claim["metadata"]["name"],
                    namespace=claim["metadata"]["namespace"],
                )
            try:
                return self._write_once(claim, allocation, pod)
            except apis.ApiError as error:
                if not error.is_conflict:
                    raise
                concurrency.step("pre-bind.conflict", claim=claims.uid_of(claim))
        raise BindingError(f"{informers.key_of(claim)}: {CONFLICT_TRIES} conflicts in a row")

    def _write_once(self, claim: Object, allocation: Object | None, pod: Object) -> Object:
        if claims.is_deleting(claim):
            raise BindingError(f"{informers.key_of(claim)} got deleted in the meantime")
        if allocation is not None:
            if claims.allocation_of(claim):
                raise BindingError(
                    f"{informers.key_of(claim)} got allocated elsewhere in the meantime"
                )
            claim = claims.with_status(self._protect(claim), allocation=allocation)
        return self._api.update_status(apis.CLAIMS, claims.with_reservation(claim, pod))

    def _protect(self, claim: Object) -> Object:
        """The claim with its finalizer, which only a write of its own can add."""
        if claims.has_finalizer(claim):
            return claim
        finalizers = [*claim["metadata"].get("finalizers", ()), claims.FINALIZER]
        return self._api.update(apis.CLAIMS, claims.with_metadata(claim, finalizers=finalizers))

    def _remove_reservation(self, claim: Object, pod: Object) -> None:
        uid = claims.uid_of(claim)
        patch = {
            "metadata": {"uid": uid},
            "status": {"reservedFor": [{"$patch": "delete", "uid": claims.uid_of(pod)}]},
        }
        try:
            self._api.patch(
                apis.CLAIMS,
                claim["metadata"]["name"],
                patch,
                namespace=claim["metadata"]["namespace"],
                kind=apis.PatchKind.STRATEGIC,
                subresource="status",
            )
        except (apis.ApiError, transports.TransportError) as error:
            concurrency.step("unreserve.failed", claim=uid, reason=str(error))

    # --------------------------------------------------------------------- parts

    def _claims_of(self, pod: Object) -> list[Object]:
        """The pod's claims by the assume cache; claims.Unresolved."""
        return [
            self._usable(pod, name, must_own=must_own) for name, must_own in claims.claim_names(pod)
        ]

    def _usable(self, pod: Object, name: str, *, must_own: bool) -> Object:
        claim = self._cache.get(f"{pod['metadata']['namespace']}/{name}")
        if claim is None:
            raise claims.Unresolved(f"resourceclaim {name!r} not found")
        if claims.is_deleting(claim):
            raise claims.Unresolved(f"resourceclaim {name!r} is being deleted")
        if must_own and not claims.is_for(claim, pod):
            raise claims.Unresolved(f"resourceclaim {name!r} was not created for the pod")
        return claim

    def _require_rest(self, claim: Object) -> None:
        if claims.uid_of(claim) in self._in_flight:
            raise Unschedulable(
                f"resource claim {informers.key_of(claim)} is in the process of being allocated"
            )

    def _new_allocator(self, attempt: Attempt) -> allocators.Allocator:
        try:
            in_use = self._gatherer.gather()
            return allocators.Allocator(
                self._inventory.snapshot(),
                in_use,
                self._classes(),
                [attempt.claims[index] for index in attempt.to_allocate],
            )
        except (
            allocators.AllocationError,
            expressions.SelectorError,
            gathering.GatherTimeoutError,
        ) as error:
            raise Unschedulable(str(error)) from error

    def _misplaced(self, attempt: Attempt, node: Object) -> set[int]:
        """Claims that are allocated where the node cannot use them."""
        allocations = [claims.allocation_of(claim) for claim in attempt.claims]
        return {
            index
            for index, allocation in enumerate(allocations)
            if allocation and not nodes.selects(allocation.get("nodeSelector"), node)
        }
