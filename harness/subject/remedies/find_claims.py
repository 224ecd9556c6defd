"""A remedy for hypothesis H13: a claim that a pod has, and does not name when it is over."""

from harness import concurrency
from harness.client import informers
from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.claim_control import enqueuing
from harness.subject.objects import claims


class ReservationEnqueuer(enqueuing.Enqueuer):
    """All claims that are reserved for a pod that is over are enqueued, not only those it names.

    Hypothesis H13. A pod that has ended, or is deleted, may have a claim that its last known state
    does not name, and no event of the claim comes later (`deletePod` and `enqueuePod` in
    pkg/controller/resourceclaim/controller.go). The claim stays reserved, and its devices
    allocated. It happens in two ways:

    - The informer of pods loses its watch, which cannot be resumed (410), before the pod's status
      names its generated claims. If the next list is without the pod, the deletion is reported with
      that old state. The event of the claim's own deletion came while the pod was still known.
    - A pod asks for an extended resource, and binding it fails. Unreserve writes the claim without
      its finalizer, and the request that deletes it is not sent, or is lost. The next attempt does
      not know the claim yet and makes another one. The status names that one alone, or none if the
      pod is deleted first.

    Upstream could do this: look for the claims of such a pod by its UID, in the claims'
    reservations, with an index of the informer.

    Why it is enough: a reservation that the informer knows when the pod is over is found by its
    UID, and the event of a later one enqueues its claim, when the pod is known to be over. It costs
    no request, and here one look at all claims for each such pod.

    Not covered: a pod that the informer never knew (H9). The second claim takes devices while the
    pod runs.
    """

    facts = replacements.Facts(name="find-claims-by-reservation")

    def on_pod(self, pod: Object, old: Object | None = None) -> None:
        """Index a new or changed pod, and enqueue it or its claims; all of them when it ends."""
        super().on_pod(pod, old)
        if claims.is_done(pod) and not (old and claims.is_done(old)):
            self._enqueue_unnamed(pod)

    def on_pod_deleted(self, pod: Object) -> None:
        """Remember the UID of a deleted pod, and enqueue its claims to drop its reservations."""
        super().on_pod_deleted(pod)
        self._enqueue_unnamed(pod)

    def _enqueue_unnamed(self, pod: Object) -> None:
        named, uid = self._claim_keys(pod), claims.uid_of(pod)
        for claim in self._context.claims.objects():
            key = informers.key_of(claim)
            if key not in named and claims.is_reserved_for(claim, pod):
                concurrency.step("remedy.reservation-found", pod=uid, claim_name=key)
                self._context.queue.add(f"claim:{key}")
