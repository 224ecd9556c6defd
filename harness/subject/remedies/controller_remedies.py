"""Remedies of the claim controller for H9, H13 and H14: objects that its informers never knew."""

from harness import concurrency
from harness.client import informers
from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.claim_control import enqueuing, generating, pod_syncing, releasing
from harness.subject.objects import claims


class AskingReleaser(releasing.Releaser):
    """A claim that is reserved for a pod unknown to the informer is synced again until it is known.

    Hypothesis H9. The informer of pods loses its watch, which cannot be resumed (410), and lists
    again. A pod that is created and deleted in between is in neither list, so that the informer
    never tells of its deletion. If the claim is synced while the pod is there, a live GET finds it
    and the reservation is kept (`syncClaim` in pkg/controller/resourceclaim/controller.go); no
    later event gives rise to another sync. The device stays with the pod that is gone, until the
    claim changes for another reason or the informers deliver everything again (after 12 to 24
    hours by default).

    Upstream could do this: let the sync fail, or add the key again after a delay, as long as a
    reservation is for a pod that the informer neither knows nor has seen deleted.

    Why it is enough: in the end either the informer knows the pod, and its deletion will be an
    event, or the live GET does not find it, and the reservation goes. It costs one read for each
    retry, and retries back off; none if the informer knows the pod.

    Not covered: reservations for consumers that are no pods.
    """

    facts = replacements.Facts(name="ask-again-for-unseen-pods")

    def sync(self, key: str) -> None:
        """Sync the claim, and once more later if it is reserved for an unknown pod.

        Raises UnsettledError in that case.
        """
        super().sync(key)
        unseen = self._unseen(key)
        if unseen:
            concurrency.step("remedy.pod-unseen", claim_name=key, pods=unseen)
            raise releasing.UnsettledError(f"reserved for unknown pods: {', '.join(unseen)}")

    def _unseen(self, key: str) -> list[str]:
        """Return the pods that the claim is reserved for and that the informer never knew."""
        claim = self._context.claims.get(key)
        if claim is None:
            return []
        return [
            entry["name"]
            for entry in claims.reservations_of(claim)
            if entry.get("resource") == "pods"
            and not entry.get("apiGroup")
            and entry["uid"] not in self._context.deleted_pods
            and self._context.pods.get(generating.key_of(claim, entry["name"])) is None
        ]


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


class AwaitingPodSyncer(pod_syncing.PodSyncer):
    """A pod is synced again until the informer knows its generated claims.

    Hypothesis H14. The controller creates a claim, its informer of claims loses its watch, which
    cannot be resumed (410), and another client deletes the claim before the next list. No event of
    the claim ever comes, so that nothing enqueues the pod, which waits for a claim that is gone
    (`syncPod` in pkg/controller/resourceclaim/controller.go).

    Upstream could do this: let the sync fail, or add the key again after a delay, as long as a
    generated claim of the pod is not in the informer's store; and not trust the mutation cache
    once the informer has listed again, as here.

    Why it is enough: in the end either the informer knows the claim, and its deletion will be an
    event, or a list without it has come, and the next sync creates another. Retries back off. A
    retry sends nothing if the pod's status names the claim in the informer's store.

    Not covered: a claim that its user has to create.
    """

    facts = replacements.Facts(name="await-created-claims")

    def sync(self, key: str) -> None:
        """Sync the pod, and once more later if the informer does not know a claim of it.

        Raises UnsettledError in that case.
        """
        super().sync(key)
        unseen = self._unseen(key)
        if unseen:
            concurrency.step("remedy.claim-unseen", pod_name=key, claims=unseen)
            raise releasing.UnsettledError(f"unknown generated claims: {', '.join(unseen)}")

    def _unseen(self, key: str) -> list[str]:
        """Return the keys of the pod's generated claims that the informer does not know."""
        keys = self._created_for(key)
        # After the created claims: a list may end their time between the two reads. If the pod
        # that was read does not name its claim yet, the event that does comes after the list, and
        # finds that the claim is unknown.
        pod = self._context.pods.get(key)
        if pod is None or self._is_over(pod):
            return []
        recorded = claims.recorded_names(pod)
        for entry in filter(generating.has_template, claims.entries_of(pod)):
            if name := recorded.get(entry["name"]):
                keys.add(generating.key_of(pod, name))
        return sorted(key for key in keys if self._context.claims.get(key) is None)

    def _created_for(self, key: str) -> set[str]:
        """Return the keys of the claims that were created for the pod, known or not."""
        pod = self._context.pods.get(key)
        owned = [] if pod is None else self._context.created.owned_by(claims.uid_of(pod))
        return {informers.key_of(claim) for claim in owned}
