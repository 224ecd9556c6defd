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


@replacements.known_as("small-mutation-cache")
class MutationCache(created_claims.CreatedClaims):
    def __init__(self) -> None:
        super().__init__()
        self._cached: collections.OrderedDict[str, tuple[float, Object]] = collections.OrderedDict()
        """Time of creation and claim, by key; the one used longest ago comes first."""

    def add(self, claim: Object) -> None:
        with self._guard:
            key = informers.key_of(claim)
            self._cached[key] = concurrency.monotonic_s(), claim
            self._cached.move_to_end(key)
            while len(self._cached) > CLAIMS_MAX:
                self._cached.popitem(last=False)

    def owned_by(self, uid: str) -> list[Object]:
        with self._guard:
            known = [self._newer(key) for key in sorted(self._owned.get(uid, ()))]
            keys = {informers.key_of(claim) for claim in known}
            return known + [
                claim
                for key, (at_s, claim) in self._cached.items()
                if key not in keys
                and claims.controller_uid(claim) == uid
                and concurrency.monotonic_s() - at_s <= REMEMBERED_S
            ]

    def _newer(self, key: str) -> Object:
        known = self._claims[key]
        _, cached = self._cached.get(key, (0.0, None))
        if cached is None:
            return known
        if passed_versions.version_of(cached) > passed_versions.version_of(known):
            return cached
        if cached["metadata"]["resourceVersion"] != known["metadata"]["resourceVersion"]:
            del self._cached[key]
        return known


@replacements.known_as("controller-claims-not-enqueued")
class InvertedDeletedEnqueuer(enqueuing.Enqueuer):
    def on_claim(self, key: str) -> None:
        super().on_claim_deleted(key)

    def on_claim_deleted(self, key: str) -> None:
        self._context.queue.add(f"claim:{key}")
        super().on_claim_deleted(key)


@replacements.known_as("controller-creations-forgotten")
class ForgottenCreations(created_claims.CreatedClaims):
    def add(self, claim: Object) -> None:
        """Forget the claim."""


@replacements.known_as("controller-reservations-dropped")
class DroppedReservations(releasing.Releaser):
    def _drop_reservations(self, claim: Object, valid: list[Object]) -> Object:
        del valid
        return super()._drop_reservations(claim, [])


@replacements.known_as("controller-statuses-overwritten")
class OverwritingPodSyncer(pod_syncing.PodSyncer):
    def _record(self, pod: Object, made: dict[str, str]) -> None:
        self._apply(pod, made)


@replacements.known_as("controller-finished-pods-synced")
class FinishedPodSyncer(pod_syncing.PodSyncer):
    def _is_over(self, pod: Object) -> bool:
        return claims.is_deleting(pod)


@replacements.known_as("template-annotated")
class SharedAnnotationsGenerator(generating.ClaimGenerator):
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


@replacements.known_as("foreign-consumer-stops-cleanup")
class PodsOnlyReleaser(releasing.Releaser):
    def _may_run(self, entry: Object) -> bool:
        raise apis.ApiError(501, "NotImplemented", f"unsupported ReservedFor entry: {entry}")


@replacements.known_as("reservation-of-unseen-pod-dropped")
class UnseenPodDroppedReleaser(releasing.Releaser):
    def _live_pod(self, claim: Object, name: str) -> Object | None:
        del claim, name
        return None


@replacements.known_as("extended-claim-kept")
class ExtendedClaimsIgnoredEnqueuer(enqueuing.Enqueuer):
    def _claim_keys(self, pod: Object) -> list[str]:
        return list(claims.known_claim_keys(pod))


@replacements.known_as("taint-not-evicted")
class TaintsIgnoredEvictor(taint_evictors.TaintEvictor):
    def _evict(self, pod: Object) -> None:
        """Leave the pod."""


@replacements.known_as("extended-claims-not-evicted")
class SpecClaimsEvictor(taint_evictors.TaintEvictor):
    def _claim_keys(self, pod: Object) -> list[str]:
        return list(claims.known_claim_keys(pod))


@replacements.known_as("tolerations-evicted")
class TolerationsIgnoredEvictor(taint_evictors.TaintEvictor):
    def _tolerations(self, result: Object) -> list[Object]:
        del result
        return []
