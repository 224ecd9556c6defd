"""A remedy for hypothesis H14: a generated claim that the informer never knew."""

from harness import concurrency
from harness.client import informers
from harness.extensions import replacements
from harness.subject.claim_control import pod_claims, pod_syncing, releasing
from harness.subject.objects import claims


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
        for entry in filter(pod_claims.has_template, claims.entries_of(pod)):
            if name := recorded.get(entry["name"]):
                keys.add(pod_claims.key_of(pod, name))
        return sorted(key for key in keys if self._context.claims.get(key) is None)

    def _created_for(self, key: str) -> set[str]:
        """Return the keys of the claims that were created for the pod, known or not."""
        pod = self._context.pods.get(key)
        owned = [] if pod is None else self._context.created.owned_by(claims.uid_of(pod))
        return {informers.key_of(claim) for claim in owned}
