"""The DynamicResources plugin: kube-scheduler's work on ResourceClaims, by extension point.

After pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go. The order of the writes
and steps in `_bind_claim` decides whether a device can be allocated twice.
"""

import collections
import dataclasses
import random
from collections.abc import Callable, Mapping
from typing import Any

from harness import concurrency
from harness.client import apis, informers
from harness.subject import (
    assume_caches,
    claim_writes,
    claims,
    expressions,
    gathering,
    in_flight,
    nodes,
    pod_claims,
)
from harness.subject.allocation import allocators, inventories

Object = dict[str, Any]
UNAVAILABLE = "resourceclaim not available on the node"
NOT_ALLOCATABLE = "cannot allocate all claims"
"""Reasons for which a node is ruled out; kube-scheduler's words."""
CONFLICT_TRIES = 5
"""Attempts to write a claim before giving up on 409 conflicts."""
CONFLICT_WAIT_S = 0.01
"""Wait between two of these attempts, in seconds."""


class Unschedulable(Exception):  # noqa: N818 - an answer, not an error
    """The pod cannot be scheduled now; the message gives the reason."""


class AttemptError(Exception):
    """This attempt failed; the pod is retried after a backoff, without waiting for an event."""


class BindingError(Exception):
    """The pod cannot be bound in this attempt; it is retried."""


@dataclasses.dataclass(slots=True)
class Attempt:
    """The state of one scheduling attempt (upstream: `stateData` in the CycleState)."""

    pod: Object
    claims: list[Object]
    """The pod's claims from the assume cache; PreBind replaces them with what it wrote."""
    to_allocate: list[int] = dataclasses.field(default_factory=list)
    """Indexes of the claims that have no allocation."""
    allocator: allocators.Allocator | None = None
    """None: no claim needs an allocation."""
    planned: dict[int, Object] = dataclasses.field(default_factory=dict)
    """Planned allocations on the chosen node, by index of the claim."""
    unavailable: set[int] = dataclasses.field(default_factory=set)
    """Indexes of claims whose existing allocation ruled out some node."""
    refusals: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    """Number of nodes that were ruled out, by reason."""

    @property
    def name(self) -> str:
        """`namespace/name` of the pod."""
        return informers.key_of(self.pod)

    def explanation(self) -> str:
        """Return why no node fits, in kube-scheduler's words."""
        if not self.refusals:
            return "no nodes available to schedule pods"
        counted = sorted(f"{count} {reason}" for reason, count in self.refusals.items())
        return f"0/{self.refusals.total()} nodes are available: {', '.join(counted)}."


class DynamicResources:
    """The plugin with its extension points as methods."""

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
        activate: Callable[[str], None],
    ) -> None:
        """`activate(key)` retries the pods that wait for a claim or a device, where no event does.

        Upstream: Handle.Activate. Only remedies need it.
        """
        self._api, self._cache, self._in_flight = api, cache, in_flight_claims
        self._gatherer, self._inventory, self._classes = gatherer, inventory, classes
        self._choices, self._activate = choices, activate

    def start(self) -> None:
        """Begin to work in the background: nothing, as upstream."""

    def stop(self) -> None:
        """End what `start` began; called after the last binding."""

    # ---------------------------------------------------------- the scheduling thread

    def pre_enqueue(self, pod: Object) -> str | None:
        """Return why the pod has to wait for one of its claims; None if all can be used."""
        return pod_claims.why_unusable(pod, self._cache.get)

    def pre_filter(self, pod: Object) -> Attempt:
        """Collect the pod's claims and, if one must be allocated, the devices in use.

        Raises Unschedulable if a claim is missing, being allocated, or cannot be allocated at all,
        and AttemptError if the gather timed out.
        """
        try:
            attempt = Attempt(pod, pod_claims.of_pod(pod, self._cache.get))
        except claims.Unresolved as reason:
            raise Unschedulable(str(reason)) from reason
        for index, claim in enumerate(attempt.claims):
            if not claims.allocation_of(claim):
                self._require_not_in_flight(claim)
                _require_known_requests(claim)
                attempt.to_allocate.append(index)
        if attempt.to_allocate:
            attempt.allocator = self._new_allocator(attempt)
        return attempt

    def filter(self, attempt: Attempt, node: Object) -> list[Object] | None:
        """Return the planned allocations on the node, or None if the pod cannot run there.

        Raises AttemptError if a claim or a slice cannot be evaluated, which ends the attempt.
        """
        try:
            misplaced = self._misplaced(attempt, node)
            attempt.unavailable |= misplaced
            if misplaced:
                attempt.refusals[UNAVAILABLE] += 1
                return None
            allocations = attempt.allocator.allocate(node) if attempt.allocator else []
        except (
            allocators.AllocationError,
            expressions.SelectorError,
            nodes.SelectorError,
        ) as error:
            raise AttemptError(str(error)) from error
        if allocations is None:
            attempt.refusals[NOT_ALLOCATABLE] += 1
        return allocations

    def post_filter(self, attempt: Attempt) -> None:
        """Deallocate one unused claim whose allocation ruled out a node, because no node fits."""
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
        """Add the planned allocations to the in-flight claims; write nothing."""
        for index, allocation in zip(attempt.to_allocate, allocations, strict=True):
            claim = attempt.claims[index]
            attempt.planned[index] = allocation
            finalizers = [*claim["metadata"].get("finalizers", ())]
            if claims.FINALIZER not in finalizers:
                finalizers.append(claims.FINALIZER)
            planned = claims.with_metadata(claim, finalizers=finalizers)
            self._in_flight.add(claims.with_status(planned, allocation=allocation))

    def unreserve(self, attempt: Attempt) -> None:
        """Undo Reserve, and remove reservations for the pod; written allocations remain."""
        for index, claim in enumerate(attempt.claims):
            concurrency.step("unreserve.started", claim=claims.uid_of(claim))
            self._forget(attempt, index)
            if claims.allocation_of(claim) and claims.is_reserved_for(claim, attempt.pod):
                claim_writes.remove_reservation(self._api, claim, attempt.pod)

    def _forget(self, attempt: Attempt, index: int) -> None:
        """Forget what a failed attempt planned for its claim of this index."""
        claim = attempt.claims[index]
        if self._in_flight.remove(claims.uid_of(claim)):
            self._cache.restore(informers.key_of(claim))

    # ------------------------------------------------------------- the binding threads

    def pre_bind(self, attempt: Attempt) -> None:
        """Write allocations and reservations.

        Raises BindingError if a claim was deleted or allocated elsewhere, or on too many conflicts.
        """
        for index, claim in enumerate(attempt.claims):
            if not claims.is_reserved_for(claim, attempt.pod):
                attempt.claims[index] = self._bind_claim(attempt, index)

    def _bind_claim(self, attempt: Attempt, index: int) -> Object:
        """Write one claim, then settle it; return what was written.

        After bindClaim in pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go.
        """
        claim, allocation = attempt.claims[index], attempt.planned.get(index)
        uid = claims.uid_of(claim)
        written: Object | None = None
        try:
            written = self._write(claim, allocation, attempt.pod)
        finally:
            self._settle(uid, written, was_planned=allocation is not None)
        return written

    def _settle(self, uid: str, written: Object | None, *, was_planned: bool) -> None:
        """Update the assume cache, then remove the claim from the in-flight claims.

        In this order the device is always visible in at least one of the two.
        """
        self._assume(uid, written)
        if was_planned and written is not None:  # after a failure, unreserve removes it
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
        """Write allocation and reservation; return the claim as the API server returned it.

        After a conflict the claim is read and written again. Raises BindingError if it was deleted
        or allocated elsewhere, or on too many conflicts.
        """
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
        if allocation is None:
            return self._api.update_status(apis.CLAIMS, claims.with_reservation(claim, pod))
        if claims.allocation_of(claim):
            raise BindingError(f"{informers.key_of(claim)} got allocated elsewhere in the meantime")
        claim = claim_writes.add_finalizer(self._api, claim)
        claim = claims.with_status(claim, allocation=allocation)
        return self._put_allocation(claims.with_reservation(claim, pod))

    def _put_allocation(self, claim: Object) -> Object:
        return self._api.update_status(apis.CLAIMS, claim)

    # ------------------------------------------------------------------- helpers

    def _require_not_in_flight(self, claim: Object) -> None:
        """Raise Unschedulable if another pod's attempt is allocating the claim."""
        if claims.uid_of(claim) in self._in_flight:
            raise Unschedulable(
                f"resource claim {informers.key_of(claim)} is in the process of being allocated"
            )

    def _new_allocator(self, attempt: Attempt) -> allocators.Allocator:
        """Return an allocator for the claims without an allocation.

        Raises Unschedulable if they cannot be allocated, AttemptError if the gather timed out.
        """
        try:
            allocated = self._gatherer.gather()
        except gathering.GatherTimeoutError as error:
            raise AttemptError(str(error)) from error
        try:
            return allocators.Allocator(
                self._inventory.snapshot(),
                allocated,
                self._classes(),
                [attempt.claims[index] for index in attempt.to_allocate],
            )
        except (allocators.AllocationError, expressions.SelectorError) as error:
            raise Unschedulable(str(error)) from error

    def _misplaced(self, attempt: Attempt, node: Object) -> set[int]:
        """Return the indexes of claims whose existing allocation cannot be used on the node."""
        allocations = [claims.allocation_of(claim) for claim in attempt.claims]
        return {
            index
            for index, allocation in enumerate(allocations)
            if allocation and not nodes.selects(allocation.get("nodeSelector"), node)
        }


def _require_known_requests(claim: Object) -> None:
    if problem := pod_claims.unknown_request(claim):
        raise Unschedulable(problem)
