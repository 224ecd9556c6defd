"""Known defects of the claim controller. Two of them are in released versions (`releases`)."""

from typing import Any

from harness.model.objects import Object
from harness.subject import plugin_defects, replacements
from harness.subject.claim_control import (
    controller_parts,
    created_claims,
    enqueuing,
    pod_syncing,
    releasing,
)
from harness.subject.defects.reported import controller_defects, mutation_cache
from harness.subject.objects import claims


class InvertedDeletedEnqueuer(enqueuing.Enqueuer):
    """The test for a deleted claim is inverted (kubernetes#127661).

    New and changed claims are not enqueued, deleted ones are. As long as the controller runs, the
    events of pods do the work; but a claim whose pods were deleted while no controller ran is never
    looked at again, and stays allocated. Reported as kubernetes#132334.
    """

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

    def add(self, claim: Object) -> None:
        """Forget the claim."""


class DroppedReservations(releasing.Releaser):
    """When one pod has ended, the reservations of all pods are dropped with its own.

    The claim is deallocated while other pods that share it run, and its devices are given to
    another claim. The correct controller keeps the reservations of pods that may run, and
    deallocates with the last one. A mutant; no release is known to be affected.
    """

    def _drop_reservations(self, claim: Object, valid: list[Object]) -> Object:
        """Drop all reservations."""
        del valid
        return super()._drop_reservations(claim, [])


class OverwritingPodSyncer(pod_syncing.PodSyncer):
    """An apply of a pod's claim statuses has only the claims of this sync (kubernetes#138407).

    It removes the entries recorded before. When one of two generated claims is lost, each sync
    records the one and drops the other, for ever. Open; kubernetes#138408 proposes to repeat all.
    """

    def _record(self, pod: Object, made: dict[str, str]) -> None:
        self._apply(pod, made)


class FinishedPodSyncer(pod_syncing.PodSyncer):
    """A pod that has ended is still worked on until it is deleted (kubernetes#141274).

    Its claims are created again, recorded again and, if it is bound, reserved again; the cleanup
    takes that away each time. Open; kubernetes#141276 proposes to ask whether the pod has ended.
    """

    def _is_over(self, pod: Object) -> bool:
        return claims.is_deleting(pod)


def _replaces(part: str, replacement: type[Any]) -> replacements.Replacement:
    return replacements.Replacement(part, replacement, controller_parts.ControllerParts)


CATALOGUE = replacements.Catalogue(
    "defect",
    "defects",
    {
        "controller-claims-not-enqueued": _replaces("enqueuer", InvertedDeletedEnqueuer),
        "controller-creations-forgotten": _replaces("created", ForgottenCreations),
        "controller-finished-pods-synced": _replaces("pod_syncer", FinishedPodSyncer),
        "controller-reservations-dropped": _replaces("releaser", DroppedReservations),
        "controller-statuses-overwritten": _replaces("pod_syncer", OverwritingPodSyncer),
        "extended-claim-kept": _replaces(
            "enqueuer", controller_defects.ExtendedClaimsIgnoredEnqueuer
        ),
        "foreign-consumer-stops-cleanup": _replaces(
            "releaser", controller_defects.PodsOnlyReleaser
        ),
        "reservation-of-unseen-pod-dropped": _replaces(
            "releaser", controller_defects.UnseenPodDroppedReleaser
        ),
        "small-mutation-cache": _replaces("created", mutation_cache.MutationCache),
        "template-annotated": _replaces("generator", controller_defects.SharedAnnotationsGenerator),
    },
    others=plugin_defects.replacement,
)
"""The known defects of the claim controller by name."""
