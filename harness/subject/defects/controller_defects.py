"""Known defects of the ResourceClaim controller."""

import collections
from typing import Any

from harness import concurrency
from harness.client import apis, informers, passed_versions
from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.claim_control import (
    created_claims,
    enqueuing,
    generating,
    pod_syncing,
    releasing,
    taint_evictors,
)
from harness.subject.objects import claims

CLAIMS_MAX = 100
"""Number of claims to remember."""
REMEMBERED_S = 3600.0
"""Time for which a claim is remembered, in seconds."""


class MutationCache(created_claims.CreatedClaims):
    """100 created claims, each for one hour, whether or not they still exist.

    With more creations than the informer has seen, the oldest is forgotten and created a second
    time (kubernetes#140217). A claim that was deleted is still found for its pod, and recorded
    again, until it is pushed out, its time is over, or the controller restarts. A claim that is
    recorded in the pod's status is looked up only in the informer's cache.
    """

    facts = replacements.Facts(
        name="small-mutation-cache",
        check="generated_claims",
        issues=("kubernetes#140217",),
        releases=replacements.Releases(last="1.36.3"),
    )

    def __init__(self) -> None:
        super().__init__()
        self._cached: collections.OrderedDict[str, tuple[float, Object]] = collections.OrderedDict()
        """Time of creation and claim, by key; the one used longest ago comes first."""

    def add(self, claim: Object) -> None:
        """Remember a claim that the controller has created."""
        with self._guard:
            key = informers.key_of(claim)
            self._cached[key] = concurrency.monotonic_s(), claim
            self._cached.move_to_end(key)
            while len(self._cached) > CLAIMS_MAX:
                self._cached.popitem(last=False)

    def owned_by(self, uid: str) -> list[Object]:
        """Return the informer's claims of the pod, and then the remembered ones."""
        with self._guard:
            known = [self._newer(key) for key in sorted(self._owned.get(uid, ()))]
            keys = {informers.key_of(claim) for claim in known}
            return known + [
                claim
                for key, (at_s, claim) in self._cached.items()
                if key not in keys
                and generating.owner_uid(claim) == uid
                and concurrency.monotonic_s() - at_s <= REMEMBERED_S
            ]

    def _newer(self, key: str) -> Object:
        """Return the newer of the informer's and the remembered claim; forget an older one."""
        known = self._claims[key]
        _, cached = self._cached.get(key, (0.0, None))
        if cached is None:
            return known
        if passed_versions.version_of(cached) > passed_versions.version_of(known):
            return cached
        if cached["metadata"]["resourceVersion"] != known["metadata"]["resourceVersion"]:
            del self._cached[key]
        return known


class InvertedDeletedEnqueuer(enqueuing.Enqueuer):
    """The test for a deleted claim is inverted (kubernetes#127661).

    New and changed claims are not enqueued, deleted ones are. As long as the controller runs, the
    events of pods do the work; but a claim whose pods were deleted while no controller ran is never
    looked at again, and stays allocated. Reported as kubernetes#132334.
    """

    facts = replacements.Facts(
        name="controller-claims-not-enqueued",
        check="resource_leaks",
        issues=("kubernetes#132334",),
        releases=replacements.Releases(first="1.32", last="1.33", given="until patched"),
    )

    def on_claim(self, key: str) -> None:
        """Enqueue only the claim's pods that need work."""
        super().on_claim_deleted(key)

    def on_claim_deleted(self, key: str) -> None:
        """Enqueue a claim that is gone."""
        self._context.queue.add(f"claim:{key}")
        super().on_claim_deleted(key)


class ForgottenCreations(created_claims.CreatedClaims):
    """Created claims are not remembered until the informer delivers them.

    A retry after "claim created, but not recorded" does not find the claim as long as the watch
    lags, and creates another one. Upstream's controller has a mutation cache against this, which
    holds 100 claims (kubernetes#140217).
    """

    facts = replacements.Facts(
        name="controller-creations-forgotten",
        check="generated_claims",
        worlds=("one-claim-per-entry",),
    )

    def add(self, claim: Object) -> None:
        """Forget the claim."""


class DroppedReservations(releasing.Releaser):
    """When one pod has ended, the reservations of all pods are dropped with its own.

    The claim is deallocated while other pods that share it run, and its devices are given to
    another claim. The correct controller keeps the reservations of pods that may run, and
    deallocates with the last one. A mutant; no release is known to be affected.
    """

    facts = replacements.Facts(
        name="controller-reservations-dropped",
        check="claims_in_use",
    )

    def _drop_reservations(self, claim: Object, valid: list[Object]) -> Object:
        del valid
        return super()._drop_reservations(claim, [])


class OverwritingPodSyncer(pod_syncing.PodSyncer):
    """An apply of a pod's claim statuses has only the claims of this sync (kubernetes#138407).

    It removes the entries recorded before. When one of two generated claims is lost, each sync
    records the one and drops the other, for ever. Open; kubernetes#138408 proposes to repeat all.
    """

    facts = replacements.Facts(
        name="controller-statuses-overwritten",
        check="generated_claims",
        issues=("kubernetes#138407",),
        releases=replacements.Releases(last="1.36.2", is_open=True),
    )

    def _record(self, pod: Object, made: dict[str, str]) -> None:
        self._apply(pod, made)


class FinishedPodSyncer(pod_syncing.PodSyncer):
    """A pod that has ended is still worked on until it is deleted (kubernetes#141274).

    Its claims are created again, recorded again and, if it is bound, reserved again; the cleanup
    takes that away each time. Open; kubernetes#141276 proposes to ask whether the pod has ended.
    """

    facts = replacements.Facts(
        name="controller-finished-pods-synced",
        check="claim_controller",
        issues=("kubernetes#141274",),
        releases=replacements.Releases(last="1.36.2", is_open=True),
    )

    def _is_over(self, pod: Object) -> bool:
        return claims.is_deleting(pod)


class SharedAnnotationsGenerator(generating.ClaimGenerator):
    """The annotation of a generated claim is put into the template's own map (kubernetes#141104).

    All workers share the template, if it has annotations: between writing the name of an entry and
    sending the claim, another worker can write the name of another entry. In Go that can also end
    the process. Open.
    """

    facts = replacements.Facts(
        name="template-annotated",
        check="generated_claims",
        issues=("kubernetes#141104",),
        releases=replacements.Releases(last="1.36.2", is_open=True),
        worlds=("annotated-template",),
    )

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._guard = concurrency.lock("template-annotations")
        """Protects single accesses to the map, so that they interleave as those of goroutines."""

    def _annotations(self, entry_name: str, from_template: Object) -> dict[str, str]:
        annotations: dict[str, str] = from_template.get("annotations") or {}
        with self._guard:
            annotations[claims.POD_CLAIM_NAME] = entry_name
        concurrency.step("controller.annotated", entry=entry_name)
        with self._guard:
            return dict(annotations)


class PodsOnlyReleaser(releasing.Releaser):
    """A consumer that is no pod stops the whole cleanup of its claim (kubernetes#136406).

    Stale reservations of pods beside it stay for ever. Fixed in 1.36: the consumer is kept, and the
    others are cleaned up.
    """

    facts = replacements.Facts(
        name="foreign-consumer-stops-cleanup",
        check="resource_leaks",
        issues=("kubernetes#136406",),
        releases=replacements.Releases(last="1.35"),
        worlds=("foreign-consumer",),
    )

    def _may_run(self, entry: Object) -> bool:
        raise apis.ApiError(501, "NotImplemented", f"unsupported ReservedFor entry: {entry}")


class UnseenPodDroppedReleaser(releasing.Releaser):
    """A reservation for a pod that the informer does not know is dropped without asking the server.

    The informer of pods may lag behind that of claims: the scheduler has bound a pod, and the
    controller has not seen it yet. Its claim is deallocated while it runs. kube-controller- manager
    asks the API server for such a pod. A mutant; no release is known to be affected.
    """

    facts = replacements.Facts(
        name="reservation-of-unseen-pod-dropped",
        check="claims_in_use",
        worlds=("pods-not-heard-of",),
    )

    def _live_pod(self, claim: Object, name: str) -> Object | None:
        del claim, name
        return None


class ExtendedClaimsIgnoredEnqueuer(enqueuing.Enqueuer):
    """Claims of extended resources are not those of a pod: only `spec.resourceClaims` counts.

    A finished pod keeps the devices of its extended resources until it is deleted. As in 1.34.2;
    1.36.2 also looks at `status.extendedResourceClaimStatus` (kubernetes#133302 brought these
    claims).
    """

    facts = replacements.Facts(
        name="extended-claim-kept",
        check="resource_leaks",
        issues=("kubernetes#133302",),
        releases=replacements.Releases(first="1.34", last="1.34"),
        worlds=("finished-extended-pods",),
    )

    def _claim_keys(self, pod: Object) -> list[str]:
        return list(claims.known_claim_keys(pod))


class TaintsIgnoredEvictor(taint_evictors.TaintEvictor):
    """No pod is evicted, whatever taints its devices have. A mutant.

    It is as a cluster without the controller that evicts: pods go on with a device that its driver
    says is broken.
    """

    facts = replacements.Facts(
        name="taint-not-evicted", check="evicted_pods", worlds=("taint-evictions",)
    )

    def _evict(self, pod: Object) -> None:
        """Leave the pod."""


class SpecClaimsEvictor(taint_evictors.TaintEvictor):
    """Only claims in a pod's spec count, not that of its extended resources (kubernetes#141290).

    A pod that asks for an extended resource goes on with a device that has a NoExecute taint. Open;
    kubernetes#142289 proposes to look at `status.extendedResourceClaimStatus` as well.
    """

    facts = replacements.Facts(
        name="extended-claims-not-evicted",
        check="evicted_pods",
        issues=("kubernetes#141290",),
        releases=replacements.Releases(first="1.34", last="1.36.3", is_open=True),
        worlds=("extended-evictions",),
    )

    def _claim_keys(self, pod: Object) -> list[str]:
        return list(claims.known_claim_keys(pod))


class TolerationsIgnoredEvictor(taint_evictors.TaintEvictor):
    """A pod is evicted at once, although its claim tolerates the taint. A mutant.

    A scheduler that leaves the tolerations out of its results (kubernetes#134434) had the same
    effect, but there the results are wrong.
    """

    facts = replacements.Facts(
        name="tolerations-evicted", check="evicted_pods", worlds=("taint-evictions",)
    )

    def _tolerations(self, result: Object) -> list[Object]:
        del result
        return []
