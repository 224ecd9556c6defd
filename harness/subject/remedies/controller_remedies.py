"""Remedies of the claim controller for H9, H13 and H14: objects that its informers never knew."""

from harness import concurrency
from harness.client import informers
from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.claim_control import enqueuing, generating, pod_syncing, releasing
from harness.subject.objects import claims


@replacements.known_as("ask-again-for-unseen-pods")
class AskingReleaser(releasing.Releaser):
    def sync(self, key: str) -> None:
        super().sync(key)
        unseen = self._unseen(key)
        if unseen:
            concurrency.step("remedy.pod-unseen", claim_name=key, pods=unseen)
            raise releasing.UnsettledError(f"reserved for unknown pods: {', '.join(unseen)}")

    def _unseen(self, key: str) -> list[str]:
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


@replacements.known_as("find-claims-by-reservation")
class ReservationEnqueuer(enqueuing.Enqueuer):
    def on_pod(self, pod: Object, old: Object | None = None) -> None:
        super().on_pod(pod, old)
        if claims.is_done(pod) and not (old and claims.is_done(old)):
            self._enqueue_unnamed(pod)

    def on_pod_deleted(self, pod: Object) -> None:
        super().on_pod_deleted(pod)
        self._enqueue_unnamed(pod)

    def _enqueue_unnamed(self, pod: Object) -> None:
        named, uid = self._claim_keys(pod), claims.uid_of(pod)
        for claim in self._context.claims.objects():
            key = informers.key_of(claim)
            if key not in named and claims.is_reserved_for(claim, pod):
                concurrency.step("remedy.reservation-found", pod=uid, claim_name=key)
                self._context.queue.add(f"claim:{key}")


@replacements.known_as("await-created-claims")
class AwaitingPodSyncer(pod_syncing.PodSyncer):
    def sync(self, key: str) -> None:
        super().sync(key)
        unseen = self._unseen(key)
        if unseen:
            concurrency.step("remedy.claim-unseen", pod_name=key, claims=unseen)
            raise releasing.UnsettledError(f"unknown generated claims: {', '.join(unseen)}")

    def _unseen(self, key: str) -> list[str]:
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
        pod = self._context.pods.get(key)
        owned = [] if pod is None else self._context.created.owned_by(claims.uid_of(pod))
        return {informers.key_of(claim) for claim in owned}
