"""Known defects of the plugin: what is written, awaited, reserved, restored and compared."""

from typing import Any

from harness import concurrency
from harness.client import informers
from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.defects import panics
from harness.subject.extended_resources import extended_claims
from harness.subject.objects import claims
from harness.subject.plugin import (
    binding_conditions,
    claim_binding,
    dynamic_resources,
    scheduling_attempts,
)
from harness.subject.tracking import assume_caches


@replacements.known_as("conditions-not-awaited")
class NotAwaitedConditions(binding_conditions.BindingConditions):
    def wait(self, attempt: scheduling_attempts.Attempt) -> None:
        del attempt


@replacements.known_as("extended-claim-not-awaited")
class NotAwaitedBinder(claim_binding.ClaimBinder):
    def _put_into_cache(self, written: Object) -> None:
        self._cache.assume(written)


@replacements.known_as("extended-claim-not-recorded")
class NotRecordedBinder(claim_binding.ClaimBinder):
    def _record_extended(self, attempt: scheduling_attempts.Attempt) -> None:
        """Leave the pod's status as it is."""


@replacements.known_as("finalizer-not-added")
class FinalizerNotAddedBinder(claim_binding.ClaimBinder):
    def _protect(self, claim: Object) -> Object:
        return claim


@replacements.known_as("node-selector-not-asked")
class NodeSelectorNotAskedPlugin(dynamic_resources.DynamicResources):
    def _misplaced(self, attempt: scheduling_attempts.Attempt, node: Object) -> set[int]:
        del node
        return set(attempt.given_up)


@replacements.known_as("bound-before-reserved")
class BoundBeforeReservedBinder(claim_binding.ClaimBinder):
    def _bind_claim(self, attempt: scheduling_attempts.Attempt, index: int) -> Object:
        if index in attempt.planned:
            return super()._bind_claim(attempt, index)
        return attempt.claims[index]


@replacements.known_as("finalizer-event-overwrites-assumed")
class FinalizerEventOverwritesAssumedPlugin(dynamic_resources.DynamicResources):
    def _put_in_flight(self, planned: Object) -> None:
        if extended_claims.is_in_memory(planned):
            super()._put_in_flight(planned)
            return
        try:
            self._cache.assume(planned)
        except assume_caches.AssumeError as error:  # the claim has changed since PreFilter
            raise scheduling_attempts.AttemptError(str(error)) from error

    def unreserve(self, attempt: scheduling_attempts.Attempt) -> None:
        super().unreserve(attempt)
        for index in attempt.planned:
            meta = attempt.claims[index]["metadata"]
            self._cache.restore(f"{meta['namespace']}/{meta['name']}")


@replacements.known_as("allocation-without-finalizer")
class AllocationWithoutFinalizerBinder(claim_binding.ClaimBinder):
    def _protect(self, claim: Object) -> Object:
        found = super()._protect(claim)
        meta = {key: item for key, item in found["metadata"].items() if key != "resourceVersion"}
        return {**found, "metadata": meta}


@replacements.known_as("deallocated-claim-reserved")
class DeallocatedClaimReservedBinder(claim_binding.ClaimBinder):
    def _write_reservation(self, claim: Object, user: Object) -> Object:
        if not claims.allocation_of(claim):
            name = claim["metadata"]["name"]
            raise panics.nil_dereference(f"the allocation of {name}")
        return super()._write_reservation(claim, user)


@replacements.known_as("no-unreserve")
class NoUnreserveBinder(claim_binding.ClaimBinder):
    def unreserve(self, attempt: scheduling_attempts.Attempt) -> None:
        del attempt


@replacements.known_as("not-cached-is-final")
class NotCachedIsFinalPlugin(dynamic_resources.DynamicResources):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._refused: dict[str, str] = {}

    def pre_enqueue(self, pod: Object) -> str | None:
        reason = super().pre_enqueue(pod)
        if reason is not None:
            self._refused.setdefault(claims.uid_of(pod), reason)
        return self._refused.get(claims.uid_of(pod))


@replacements.known_as("deallocation-event-missed")
class DeallocationEventMissedCache(assume_caches.AssumeCache):
    def _push_update(self, old: Object, new: Object) -> None:
        key = informers.key_of(new)
        concurrency.reads(self._changed, "api", key)
        delivered = self._entries[key].api
        of_queue = self._handlers[1:]  # the first one tracks the devices
        self._push(
            new, lambda handler: handler.on_update(delivered if handler in of_queue else old, new)
        )


@replacements.known_as("unreserve-restores-written-claim")
class RestoresWrittenClaimBinder(claim_binding.ClaimBinder):
    def _settle(self, uid: str, written: Object | None, *, was_planned: bool) -> None:
        del was_planned
        self._assume(uid, written)

    def finish(self, attempt: scheduling_attempts.Attempt) -> None:
        for index in attempt.planned:
            self._in_flight.remove(claims.uid_of(attempt.claims[index]))


@replacements.known_as("allocated-claim-not-scored")
class AllocatedClaimNotScoredPlugin(dynamic_resources.DynamicResources):
    def is_scored(self, attempt: scheduling_attempts.Attempt) -> bool:
        return super().is_scored(attempt) or 0 < len(attempt.to_allocate) < len(attempt.claims)

    def score(self, attempt: scheduling_attempts.Attempt, allocations: list[Object]) -> int:
        """Return the score. Raises AttemptError if there are fewer allocations than claims."""
        if len(allocations) < len(attempt.claims):
            raise scheduling_attempts.AttemptError(
                f'running Score plugins: plugin "DynamicResources" failed with: number of '
                f"allocations {len(allocations)} is smaller than number of claims "
                f"{len(attempt.claims)}"
            )
        return super().score(attempt, allocations)
