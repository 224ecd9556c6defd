"""Decides which events give the controller work, and enqueues it.

After enqueuePod and enqueueResourceClaim in pkg/controller/resourceclaim/controller.go. The queue
has keys `pod:namespace/name`, `podgroup:namespace/name` and `claim:namespace/name`.
"""

import collections

from harness import concurrency
from harness.client import informers
from harness.model.objects import Object
from harness.subject.claim_control import controller_contexts, generating, pod_syncing
from harness.subject.objects import claims, pod_groups


class Enqueuer:
    """Handles the events of pods, claims and templates."""

    def __init__(
        self, context: controller_contexts.ControllerContext, syncer: pod_syncing.PodSyncer
    ) -> None:
        self._context, self._syncer = context, syncer
        self._guard = concurrency.lock("claim-controller.indexes")
        self._users: dict[str, set[str]] = collections.defaultdict(set)
        """The queue's keys of the pods and PodGroups that use a claim, by the claim's key."""

    def on_pod(self, pod: Object, old: Object | None = None) -> None:
        """Index a new or changed pod, and enqueue it or its claims if they need work.

        `old`: its last known state, None for a new pod.
        """
        keys = self._claim_keys(pod)
        if not keys and not claims.entries_of(pod):
            return
        with self._guard:
            self._forget(pod, self._claim_keys(old) if old else [])
            for claim_key in keys:
                self._users[claim_key].add(_key(pod))
        self._look_at(pod)

    def on_group(self, group: Object, old: Object | None = None) -> None:
        """Index a new or changed PodGroup, and enqueue it and its pods if they need work."""
        self.on_pod(group, old)
        group_key = informers.key_of(group)
        for pod in self._context.pods.objects():
            if pod_groups.key_of(pod) == group_key:
                self._look_at(pod)

    def on_pod_deleted(self, pod: Object) -> None:
        keys = self._claim_keys(pod)
        if not keys and not claims.entries_of(pod):
            return
        with self._guard:
            self._context.deleted_pods.add(claims.uid_of(pod))
            self._forget(pod, keys)
        self._enqueue_claims(pod)

    def _forget(self, pod: Object, claim_keys: list[str]) -> None:
        for claim_key in claim_keys:
            self._users[claim_key].discard(_key(pod))
            if not self._users[claim_key]:
                del self._users[claim_key]

    def on_claim(self, key: str) -> None:
        """Enqueue a new or changed claim, and its pods that need work."""
        self._context.queue.add(f"claim:{key}")
        self._look_at_users(key)

    def on_claim_deleted(self, key: str) -> None:
        """Enqueue the pods of a claim that need work; they may need another claim."""
        self._look_at_users(key)

    def _look_at_users(self, key: str) -> None:
        with self._guard:
            users = sorted(self._users.get(key, ()))
        for user in users:
            kind, _, key = user.partition(":")
            known = self._context.pods if kind == "pod" else self._context.groups
            if (obj := known.get(key)) is not None:
                self._look_at(obj)

    def on_template(self, template: Object) -> None:
        """Enqueue the pods and PodGroups that name a new or changed template, if they waited."""
        meta = template["metadata"]
        for pod in (*self._context.pods.objects(), *self._context.groups.objects()):
            names = {entry.get("resourceClaimTemplateName") for entry in claims.entries_of(pod)}
            if pod["metadata"]["namespace"] == meta["namespace"] and meta["name"] in names:
                self._look_at(pod)

    def _look_at(self, pod: Object) -> None:
        if claims.is_done(pod):
            self._enqueue_claims(pod)
        if self._syncer.needs_work(pod):
            self._context.queue.add(_key(pod))

    def _enqueue_claims(self, pod: Object) -> None:
        for key in self._claim_keys(pod):
            self._context.queue.add(f"claim:{key}")

    def _claim_keys(self, pod: Object) -> list[str]:
        return [*claims.known_claim_keys(pod), *generating.extended_claim_keys(pod)]


def _key(obj: Object) -> str:
    kind = "podgroup" if pod_groups.is_group(obj) else "pod"
    return f"{kind}:{informers.key_of(obj)}"
