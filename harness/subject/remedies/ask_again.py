"""A remedy for hypothesis H9: a reservation for a pod that the informer never knew."""

from harness import concurrency
from harness.extensions import replacements
from harness.subject.claim_control import pod_claims, releasing
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
            and self._context.pods.get(pod_claims.key_of(claim, entry["name"])) is None
        ]
