"""Defects of Reserve, PreBind and Unreserve that were reported."""

from typing import Any

from harness import concurrency
from harness.client import informers
from harness.model.objects import Object
from harness.subject.defects import panics
from harness.subject.extended_resources import extended_claims
from harness.subject.objects import claims
from harness.subject.plugin import claim_binding, dynamic_resources, scheduling_attempts
from harness.subject.tracking import assume_caches


class FinalizerEventOverwritesAssumedPlugin(dynamic_resources.DynamicResources):
    """A planned allocation is assumed with the claim's old version (kubernetes#123516).

    There are no claims in flight. PreBind adds the finalizer in a write of its own; its event is
    newer than what was assumed and has no allocation, so that it drops the plan. The device looks
    free until the allocation itself is written. A version of 1.30 in development did this. Since
    then a planned claim is kept in flight, where no event reaches it.
    """

    def _put_in_flight(self, planned: Object) -> None:
        if extended_claims.is_in_memory(planned):
            super()._put_in_flight(planned)
            return
        try:
            self._cache.assume(planned)
        except assume_caches.AssumeError as error:  # the claim has changed since PreFilter
            raise scheduling_attempts.AttemptError(str(error)) from error

    def unreserve(self, attempt: scheduling_attempts.Attempt) -> None:
        """Undo Reserve: the plans are in the assume cache."""
        super().unreserve(attempt)
        for index in attempt.planned:
            meta = attempt.claims[index]["metadata"]
            self._cache.restore(f"{meta['namespace']}/{meta['name']}")


class AllocationWithoutFinalizerBinder(claim_binding.ClaimBinder):
    """The allocation is written whatever version the claim has by then (kubernetes#124931).

    The finalizer is not added if the scheduler's version of the claim has it. Meanwhile the claim
    controller, which has cleared the last allocation, removes it: the claim is allocated without
    the finalizer, and a user who deletes the claim removes it while its pod runs. Before 1.31 the
    status was patched; since then it is updated with the resourceVersion.
    """

    def _protect(self, claim: Object) -> Object:
        found = super()._protect(claim)
        meta = {key: item for key, item in found["metadata"].items() if key != "resourceVersion"}
        return {**found, "metadata": meta}


class DeallocatedClaimReservedBinder(claim_binding.ClaimBinder):
    """The reservation of a claim that was deallocated meanwhile is a panic.

    With binding conditions on, `bindClaim` sets the time of the allocation that the claim had when
    the node was chosen. In 1.34.2 it dereferences it without a look at the claim that it has read
    again after a conflict; in 1.36.2 that is an error, and the pod is tried again.
    """

    def _write_reservation(self, claim: Object, pod: Object) -> Object:
        if not claims.allocation_of(claim):
            name = claim["metadata"]["name"]
            raise panics.nil_dereference(f"the allocation of {name}")
        return super()._write_reservation(claim, pod)


class NoUnreserveBinder(claim_binding.ClaimBinder):
    """A failed attempt is not undone: its claims stay in flight (volcano#5102).

    Their devices look taken for ever, and no pod can use the claims. Volcano reuses the plugin of
    kube-scheduler, and ended a session without Unreserve; fixed by volcano#5103.
    """

    def unreserve(self, attempt: scheduling_attempts.Attempt) -> None:
        """Undo nothing."""
        del attempt


class NotCachedIsFinalPlugin(dynamic_resources.DynamicResources):
    """A pod whose claim is not known yet is refused for good (volcano#5997).

    The pod came before its claim, or the informer of claims is late. Volcano took that for an error
    that does not go away. kube-scheduler lets the pod in when the claim comes.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._refused: dict[str, str] = {}

    def pre_enqueue(self, pod: Object) -> str | None:
        """Return why the pod was refused first."""
        reason = super().pre_enqueue(pod)
        if reason is not None:
            self._refused.setdefault(claims.uid_of(pod), reason)
        return self._refused.get(claims.uid_of(pod))


class DeallocationEventMissedCache(assume_caches.AssumeCache):
    """The scheduling queue compares what the informer delivers with what it delivered before.

    The informer may never deliver that a claim was allocated: when its watch has to list again, a
    claim that was allocated and freed looks unchanged. The pods that wait for its device are not
    retried. Up to 1.30; since kubernetes#124595 the queue compares with the claim as it was
    assumed (reported as kubernetes#123698).
    """

    def _push_update(self, old: Object, new: Object) -> None:
        key = informers.key_of(new)
        concurrency.reads(self._changed, "api", key)
        delivered = self._entries[key].api
        of_queue = self._handlers[1:]  # the first one tracks the devices
        self._push(
            new, lambda handler: handler.on_update(delivered if handler in of_queue else old, new)
        )
