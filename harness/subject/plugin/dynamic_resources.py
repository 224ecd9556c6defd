"""The DynamicResources plugin: kube-scheduler's work on ResourceClaims, by extension point.

After pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go. The module
`binding.claim_binding` has the part that binding threads call.
"""

import random
from collections.abc import Callable, Mapping

from harness.client import apis, informers
from harness.model.objects import Object
from harness.subject.allocation import allocators, inventories, refusal_memory
from harness.subject.cel import selectors as cel_selectors
from harness.subject.extended_resources import class_resolver, extended_claims, extended_requests
from harness.subject.objects import claims, nodes, pod_groups
from harness.subject.plugin import (
    binding_conditions,
    claim_binding,
    group_members,
    misplaced_claims,
    scheduling_attempts,
)
from harness.subject.telemetry import klog
from harness.subject.tracking import assume_caches, gathering, in_flight

UNAVAILABLE = "resourceclaim not available on the node"
LEFT_OVER = "cannot schedule extended resource claim"
"""Reasons for which a node is ruled out; kube-scheduler's words."""

READS_MAX = 10
"""Attempts to read the claims of a pod while they change."""


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
        binder: claim_binding.ClaimBinder,
        conditions: binding_conditions.BindingConditions,
        extended: class_resolver.ExtendedResources,
        groups: claims.Lookup | None = None,
        members: group_members.GroupMembers | None = None,
        allocator: Callable[..., allocators.Allocator] = allocators.Allocator,
        remembers: bool = True,
        filter_timeout_s: float = allocators.FILTER_TIMEOUT_S,
    ) -> None:
        """`groups(key)` returns a PodGroup, None if there is none; `groups` None: there are none.

        `remembers`: do not search nodes again that refuse as long as no device of theirs is freed.
        `filter_timeout_s`: limit for the search for devices on one node; 0: none.
        """
        self._api, self._cache, self._in_flight = api, cache, in_flight_claims
        self._gatherer, self._inventory, self._classes = gatherer, inventory, classes
        self._choices, self._binder, self._allocator = choices, binder, allocator
        self._extended, self._conditions = extended, conditions
        self._groups, self._members = groups, members or group_members.GroupMembers()
        self._filter_timeout_s, self._remembers = filter_timeout_s, remembers
        self._memory = refusal_memory.RefusalMemory()

    def start(self) -> None:
        self._binder.start()

    def end_waits(self) -> None:
        """End the waits for devices to be made ready, so that the binding threads can end."""
        self._conditions.stop()

    def stop(self) -> None:
        """End what `start` began; called after the last binding."""
        self._binder.stop()

    # ---------------------------------------------------------- the scheduling thread

    def pre_enqueue(self, pod: Object) -> str | None:
        """Return why the pod has to wait for one of its claims; None if all can be used."""
        return claims.why_unusable(pod, self._cache.get)

    def pre_filter(self, pod: Object) -> scheduling_attempts.Attempt:
        """Collect the pod's claims and, if one must be allocated, the devices in use.

        Raises Unschedulable if a claim is missing, in use by too many pods, being allocated, or
        cannot be allocated at all, and AttemptError if the gather timed out.
        """
        try:
            attempt = scheduling_attempts.Attempt(
                pod,
                self._claims_of(pod),
                users=claims.users_of(pod, self._group_of(pod)),
                demand=self._demand(pod),
            )
        except claims.Unresolved as reason:
            raise scheduling_attempts.Unschedulable(str(reason)) from reason
        if attempt.claims:
            klog.info(5, "pod resource claims", pod=pod, resourceclaims=attempt.claims)
        for index, claim in enumerate(attempt.claims):
            self._require_reservable(claim, attempt.user_of(index))
            if self._conditions.have_failed(claim):
                attempt.given_up.add(index)
            if not claims.allocation_of(claim):
                attempt.to_allocate.append(index)
        self._add_extended_claim(attempt)
        if attempt.to_allocate:
            attempt.allocator = self._allocator_for(attempt)
        return attempt

    def filter(self, attempt: scheduling_attempts.Attempt, node: Object) -> list[Object] | None:
        """Return the planned allocations on the node, or None if the pod cannot run there."""
        if refusal := LEFT_OVER if attempt.left_over else attempt.demand.refusal:
            attempt.refuse(refusal)
            return None
        try:
            misplaced = self._misplaced(attempt, node)
            if misplaced:
                attempt.refuse(UNAVAILABLE, misplaced)
                return None
            allocations = attempt.allocator.allocate(node) if attempt.allocator else []
        except allocators.AllocationCancelledError:
            return None
        except allocators.AllocationTimeoutError as error:
            self._time_out(attempt, node, error)
            return None
        except (
            allocators.AllocationError,
            cel_selectors.SelectorError,
            nodes.SelectorError,
        ) as error:
            raise scheduling_attempts.AttemptError(str(error)) from error
        if allocations is None:
            attempt.refuse_devices(node)
        return allocations

    def _time_out(
        self,
        attempt: scheduling_attempts.Attempt,
        node: Object,
        error: allocators.AllocationTimeoutError,
    ) -> None:
        """End the attempt, as since 1.36: the next one may be faster."""
        del attempt
        name = node["metadata"]["name"]
        raise scheduling_attempts.AttemptError(f"node {name}: {error}") from error

    def _misplaced(self, attempt: scheduling_attempts.Attempt, node: Object) -> set[int]:
        return misplaced_claims.on(attempt, node)

    def is_scored(self, attempt: scheduling_attempts.Attempt) -> bool:
        """Return whether nodes that fit are compared; only alternatives make a difference."""
        return any(True for _ in attempt.prioritized())

    def score(self, attempt: scheduling_attempts.Attempt, allocations: list[Object]) -> int:
        return attempt.preference(allocations)

    def post_filter(self, attempt: scheduling_attempts.Attempt) -> str:
        """Free what keeps the pod from every node; return what was done, in upstream's words."""
        group_runs = self._members.are_scheduled(attempt.pod)
        return misplaced_claims.free_one(self._api, attempt, self._choices, group_runs=group_runs)

    def reserve(
        self, attempt: scheduling_attempts.Attempt, node: Object, allocations: list[Object]
    ) -> None:
        """Add the allocations planned on the node to the in-flight claims; write nothing."""
        attempt.node_name = node["metadata"]["name"]
        self._members.assume(attempt.pod)
        for index, allocation in zip(attempt.to_allocate, allocations, strict=True):
            claim = attempt.claims[index]
            attempt.planned[index] = allocation
            finalizers = [*claim["metadata"].get("finalizers", ())]
            if claims.FINALIZER not in finalizers:
                finalizers.append(claims.FINALIZER)
            planned = claims.with_metadata(claim, finalizers=finalizers)
            self._put_in_flight(claims.with_status(planned, allocation=allocation))
            claim_binding.log("Reserved resource in allocation result", claim, allocation)

    def _put_in_flight(self, planned: Object) -> None:
        self._in_flight.add(planned)

    # ------------------------------------------------------------- the binding threads

    def pre_bind(self, attempt: scheduling_attempts.Attempt) -> None:
        """Write allocations and reservations, and wait until the devices are ready.

        Raises BindingError if a claim was deleted or allocated elsewhere, on too many conflicts, or
        if a device was not made ready.
        """
        self._binder.bind(attempt)
        self._conditions.wait(attempt)
        self._binder.finish(attempt)

    def unreserve(self, attempt: scheduling_attempts.Attempt) -> None:
        """Undo Reserve, and remove reservations for the pod; written allocations remain."""
        self._binder.unreserve(attempt)
        self._members.forget(attempt.pod)

    # ------------------------------------------------------------------- helpers

    def _require_reservable(self, claim: Object, user: Object) -> None:
        """Raise Unschedulable if the claim has no place for its user; an event announces one."""
        is_full = len(claims.reservations_of(claim)) >= claims.RESERVATIONS_MAX
        if is_full and not claims.is_reserved_for(claim, user):
            raise scheduling_attempts.Unschedulable("resourceclaim in use")

    def _group_of(self, pod: Object) -> Object | None:
        """Return the pod's PodGroup. Raises Unresolved if it is not known yet."""
        key = pod_groups.key_of(pod)
        group = self._groups(key) if key and self._groups else None
        if key and group is None:
            raise claims.Unresolved(f"pod group {key!r} not found")
        return group

    def _claims_of(self, pod: Object) -> list[Object]:
        """Return the pod's claims; of those without an allocation, none is in flight.

        A claim has its allocation in the assume cache before it leaves the in-flight claims. So it
        is read again after the look at these. Otherwise a version from before could be planned once
        more, which would fail, and be restored in place of the newest one: the device would look
        free, and every further attempt would fail (kubernetes#140263). Raises Unresolved if a claim
        cannot be used yet, Unschedulable if one is being allocated, and AttemptError if the claims
        change all the time.
        """
        found = claims.of_pod(pod, self._cache.get)
        for _ in range(READS_MAX):
            for claim in found:
                if not claims.allocation_of(claim):
                    self._require_not_in_flight(claim)
            again = claims.of_pod(pod, self._cache.get)
            if _versions(again) == _versions(found):
                return found
            found = again
        raise scheduling_attempts.AttemptError("the claims of the pod change all the time")

    def _require_not_in_flight(self, claim: Object) -> None:
        if claims.uid_of(claim) in self._in_flight:
            raise scheduling_attempts.Unschedulable(
                f"resource claim {informers.key_of(claim)} is in the process of being allocated"
            )

    def _demand(self, pod: Object) -> class_resolver.Demand:
        return self._extended.demand(pod)

    def _add_extended_claim(self, attempt: scheduling_attempts.Attempt) -> None:
        claim = self._extended.claim_for(attempt.pod, attempt.demand)
        if claim is None:
            return
        if extended_claims.is_in_memory(claim):
            requests, attempt.mappings = extended_requests.for_pod(
                attempt.pod, attempt.demand.classes
            )
            attempt.to_allocate.append(len(attempt.claims))
            attempt.claims.append(extended_claims.with_requests(claim, requests))
        else:
            self._require_not_in_flight(claim)
            attempt.left_over = claim

    def _allocator_for(self, attempt: scheduling_attempts.Attempt) -> allocators.Allocator:
        """Return the allocator for the claims without an allocation. Raises Unschedulable."""
        wanted = [attempt.claims[index] for index in attempt.to_allocate]
        try:
            allocated = self._gatherer.gather()
        except gathering.GatherTimeoutError as error:
            raise scheduling_attempts.AttemptError(str(error)) from error
        snapshot, classes = self._inventory.snapshot(), self._classes()
        if attempt.needs_only_devices() and self._remembers:
            attempt.refused = self._memory.refused(wanted, classes, allocated, snapshot)
        try:
            return self._allocator(
                snapshot,
                allocated,
                classes,
                wanted,
                timeout_s=self._filter_timeout_s,
                is_cancelled=lambda: attempt.is_stopped,
            )
        except (allocators.AllocationError, cel_selectors.SelectorError) as error:
            raise scheduling_attempts.Unschedulable(str(error)) from error


def _versions(found: list[Object]) -> list[tuple[str, str]]:
    return [(claims.uid_of(claim), claim["metadata"]["resourceVersion"]) for claim in found]
