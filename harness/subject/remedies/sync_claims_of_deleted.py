"""A remedy for hypothesis H13: a pod that was last seen without its claims."""

from typing import Any

from harness import concurrency
from harness.client import informers
from harness.subject import claims
from harness.subject.claim_control import enqueuing

Object = dict[str, Any]


class ReservationEnqueuer(enqueuing.Enqueuer):
    """All claims that are reserved for a deleted pod are enqueued, not only those that it names.

    Hypothesis H13. The informer of pods loses its watch, which cannot be resumed (410), while
    the last state that it knows of a pod does not name its generated claims. If the next list is
    without the pod, the deletion is reported with that old state, and no claim is enqueued
    (`deletePod` and `enqueuePod` in pkg/controller/resourceclaim/controller.go). The event of the
    claim's own deletion came while the pod was still known. The claim stays reserved, and its
    devices allocated, until it changes for another reason.

    Upstream could do this: look for the claims of a deleted pod by the pod's UID, in the claims'
    reservations, with an index of the informer.

    Why it is enough: a reservation that the informer knows at the deletion is found by its UID, and
    the event of a later one enqueues its claim, when the pod is known to be deleted. It costs no
    request, and here one look at all claims for each deleted pod.

    Not covered: a pod that the informer never knew (H9).
    """

    def on_pod_deleted(self, pod: Object) -> None:
        """Remember the UID of a deleted pod, and enqueue its claims to drop its reservations."""
        super().on_pod_deleted(pod)
        named, uid = self._claim_keys(pod), claims.uid_of(pod)
        for claim in self._context.claims.objects():
            key = informers.key_of(claim)
            if key not in named and claims.is_reserved_for(claim, pod):
                concurrency.step("remedy.reservation-found", pod=uid, claim_name=key)
                self._context.queue.add(f"claim:{key}")
