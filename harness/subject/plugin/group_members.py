"""The pods of PodGroups that are on nodes, or about to be bound: those that use the group's claims.

After PodGroupStates in pkg/scheduler/backend/cache/podgroupstate.go.
"""

import collections

from harness import concurrency
from harness.client import informers
from harness.model.objects import Object
from harness.subject.objects import claims, pod_groups


class GroupMembers(informers.StateHandler):
    """Counts the scheduled pods of each group; an event handler of the informer of pods."""

    def __init__(self) -> None:
        self._guard = concurrency.lock("group-members")
        self._members: dict[str, set[str]] = collections.defaultdict(set)
        """UIDs of pods by the key of their group."""

    def assume(self, pod: Object) -> None:
        """Count a pod that is about to be bound, before the informer delivers it as bound."""
        if key := pod_groups.key_of(pod):
            with self._guard:
                self._members[key].add(claims.uid_of(pod))

    def forget(self, pod: Object) -> None:
        if key := pod_groups.key_of(pod):
            with self._guard:
                self._members[key].discard(claims.uid_of(pod))
                if not self._members[key]:
                    del self._members[key]

    def are_scheduled(self, pod: Object) -> bool:
        key = pod_groups.key_of(pod)
        if key is None:
            return False
        with self._guard:
            return key in self._members

    def on_state(self, obj: Object) -> None:
        if claims.is_done(obj):
            self.forget(obj)
        elif obj["spec"].get("nodeName"):
            self.assume(obj)

    def on_delete(self, last: Object) -> None:
        self.forget(last)
