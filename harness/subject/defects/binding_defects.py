"""Known defects of PreBind and of the plugin: what is written, awaited and reserved for a pod."""

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


class NotAwaitedConditions(binding_conditions.BindingConditions):
    """A pod is bound as soon as its claims are written, whether its devices are ready or not.

    The kubelet then prepares a device that is not attached to its node yet, or never will be. This
    mutant of PreBind (KEP-5007) was never shipped. An allocation whose attachment fails is not
    given up either, because the pod runs.
    """

    facts = replacements.Facts(
        name="conditions-not-awaited",
        check="device_readiness",
        worlds=("binding-condition-fails",),
    )

    def wait(self, attempt: scheduling_attempts.Attempt) -> None:
        """Return at once."""
        del attempt


class NotAwaitedBinder(claim_binding.ClaimBinder):
    """A claim that was just created is assumed once, whether the informer has delivered it or not.

    The assume cache refuses a claim that it does not know, and the claim leaves the in-flight
    claims all the same. Until the informer delivers it, its devices look free. The first code for
    extended resources in kube-scheduler did this; since August 2025 (1.34) the claim is awaited
    (kubernetes#133302, kubernetes#133321).
    """

    facts = replacements.Facts(
        name="extended-claim-not-awaited",
        issues=("kubernetes#133302",),
        releases=replacements.Releases(words="1.34 in development"),
        worlds=("extended-claims",),
    )

    def _put_into_cache(self, written: Object) -> None:
        self._cache.assume(written)


class NotRecordedBinder(claim_binding.ClaimBinder):
    """PreBind leaves out the last write for extended resources: `extendedResourceClaimStatus`.

    The devices are allocated and reserved for the pod, and the pod is bound. But the kubelet learns
    of the claim only from the pod's status, so that it starts the containers without their devices.
    This mutant was never shipped; it shows that the write belongs before the binding.
    """

    facts = replacements.Facts(
        name="extended-claim-not-recorded",
        check="extended_claims",
    )

    def _record_extended(self, attempt: scheduling_attempts.Attempt) -> None:
        """Leave the pod's status as it is."""


class FinalizerNotAddedBinder(claim_binding.ClaimBinder):
    """PreBind writes the allocation of a claim without adding the finalizer first.

    A user who deletes the claim then removes it at once, with the allocation, while its pod runs;
    the devices are given to another claim. `bindClaim` adds the finalizer in a write of its own,
    because an update of the status cannot. A mutant; no release is known to be affected.
    """

    facts = replacements.Facts(
        name="finalizer-not-added",
        check="allocation_finalizers",
    )

    def _protect(self, claim: Object) -> Object:
        return claim


class NodeSelectorNotAskedPlugin(dynamic_resources.DynamicResources):
    """Filter does not ask where the devices of an allocated claim can be reached.

    The second pod of a shared claim is bound to the first node with room, where its kubelet cannot
    prepare the claim. A mutant; no release is known to be affected.
    """

    facts = replacements.Facts(
        name="node-selector-not-asked",
        check="bound_pods",
        worlds=("allocation-freed-for-another-pod",),
    )

    def _misplaced(self, attempt: scheduling_attempts.Attempt, node: Object) -> set[int]:
        del node
        return set(attempt.given_up)


class BoundBeforeReservedBinder(claim_binding.ClaimBinder):
    """PreBind does not reserve a claim that has an allocation; the pod is bound all the same.

    The claim controller reserves the claim later, because it does so for pods that were bound by
    hand. Until then the claim may be deallocated under the pod. A mutant; no release is known to be
    affected.
    """

    facts = replacements.Facts(
        name="bound-before-reserved",
        check="bound_pods",
        worlds=("three-pods-one-claim", "two-schedulers-one-claim"),
    )

    def _bind_claim(self, attempt: scheduling_attempts.Attempt, index: int) -> Object:
        if index in attempt.planned:
            return super()._bind_claim(attempt, index)
        return attempt.claims[index]


class FinalizerEventOverwritesAssumedPlugin(dynamic_resources.DynamicResources):
    """A planned allocation is assumed with the claim's old version (kubernetes#123516).

    There are no claims in flight. PreBind adds the finalizer in a write of its own; its event is
    newer than what was assumed and has no allocation, so that it drops the plan. The device looks
    free until the allocation itself is written. A version of 1.30 in development did this. Since
    then a planned claim is kept in flight, where no event reaches it.
    """

    facts = replacements.Facts(
        name="finalizer-event-overwrites-assumed",
        issues=("kubernetes#123516",),
        releases=replacements.Releases(words="1.30 in development"),
        worlds=("two-claims-one-device", "pod-arrives-during-binding"),
    )

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

    facts = replacements.Facts(
        name="allocation-without-finalizer",
        check="allocation_finalizers",
        issues=("kubernetes#124931",),
        releases=replacements.Releases(last="1.30"),
        worlds=("claim-freed-and-taken",),
    )

    def _protect(self, claim: Object) -> Object:
        found = super()._protect(claim)
        meta = {key: item for key, item in found["metadata"].items() if key != "resourceVersion"}
        return {**found, "metadata": meta}


class DeallocatedClaimReservedBinder(claim_binding.ClaimBinder):
    """The reservation of a claim that was deallocated meanwhile is a panic.

    With binding conditions on, `bindClaim` sets the time of the allocation that the claim had when
    the node was chosen. In 1.34 and 1.35 it dereferences it without a look at the claim that it has
    read again after a conflict; since 1.36 that is an error, and the pod is tried again.
    """

    facts = replacements.Facts(
        name="deallocated-claim-reserved",
        check="claim_progress",
        issues=("kubernetes#130160",),
        releases=replacements.Releases(
            first="1.34", last="1.35", given="with binding conditions on"
        ),
        worlds=("allocation-freed-for-another-pod",),
    )

    def _write_reservation(self, claim: Object, user: Object) -> Object:
        if not claims.allocation_of(claim):
            name = claim["metadata"]["name"]
            raise panics.nil_dereference(f"the allocation of {name}")
        return super()._write_reservation(claim, user)


class NoUnreserveBinder(claim_binding.ClaimBinder):
    """A failed attempt is not undone: its claims stay in flight (volcano#5102).

    Their devices look taken for ever, and no pod can use the claims. Volcano reuses the plugin of
    kube-scheduler, and ended a session without Unreserve; fixed by volcano#5103.
    """

    facts = replacements.Facts(
        name="no-unreserve",
        check="claim_progress",
        issues=("volcano#5102",),
        releases=replacements.Releases(words="Volcano"),
        worlds=("two-schedulers-one-claim",),
    )

    def unreserve(self, attempt: scheduling_attempts.Attempt) -> None:
        """Undo nothing."""
        del attempt


class NotCachedIsFinalPlugin(dynamic_resources.DynamicResources):
    """A pod whose claim is not known yet is refused for good (volcano#5997).

    The pod came before its claim, or the informer of claims is late. Volcano took that for an error
    that does not go away. kube-scheduler lets the pod in when the claim comes.
    """

    facts = replacements.Facts(
        name="not-cached-is-final",
        check="claim_progress",
        issues=("volcano#5997",),
        releases=replacements.Releases(words="Volcano"),
        worlds=("two-users-one-device",),
    )

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

    facts = replacements.Facts(
        name="deallocation-event-missed",
        check="claim_progress",
        issues=("kubernetes#123698", "kubernetes#124595"),
        releases=replacements.Releases(last="1.30"),
        worlds=("freed-unseen",),
    )

    def _push_update(self, old: Object, new: Object) -> None:
        key = informers.key_of(new)
        concurrency.reads(self._changed, "api", key)
        delivered = self._entries[key].api
        of_queue = self._handlers[1:]  # the first one tracks the devices
        self._push(
            new, lambda handler: handler.on_update(delivered if handler in of_queue else old, new)
        )
