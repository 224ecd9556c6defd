"""The pods on nodes and what they request; they include those that are about to be bound.

After the scheduler's cache in pkg/scheduler/backend/cache: a pod is assumed to be on its node once
devices are reserved for it there, and forgotten if it cannot be bound.
"""

from collections.abc import Callable

from harness import concurrency
from harness.client import informers
from harness.model.objects import Object
from harness.subject.objects import claims
from harness.subject.scheduling import node_groups, node_resources


class AssignedPods(informers.StateHandler):
    """Counts the pods of each node; an event handler of the informer of pods."""

    def __init__(self, on_freed: Callable[[], None] = lambda: None) -> None:
        """`on_freed()` is called when a pod has left its node while another one lacks room."""
        self.groups = node_groups.NodeGroups()
        self._on_freed = on_freed
        self._guard = concurrency.lock("assigned-pods")
        self._pods: dict[str, tuple[str, node_resources.PodRequest]] = {}
        """Node and request by UID of the pod."""
        self._is_awaited = False

    def refusal(self, node: Object, request: node_resources.PodRequest) -> str | None:
        """Return why a node has too little for a pod; None if it has enough."""
        reason = self.groups.refusal(node, request)
        if reason is not None:
            self._is_awaited = True
        return reason

    def assume(self, pod: Object, node_name: str) -> None:
        """Count a pod that is about to be bound, before the informer delivers it as bound."""
        self._place(pod, node_name)

    def forget(self, pod: Object) -> None:
        """Count a pod no longer."""
        with self._guard:
            known = self._pods.pop(claims.uid_of(pod), None)
        if known is None:
            return
        self.groups.count(*known, -1)
        if self._is_awaited:
            self._is_awaited = False
            self._on_freed()

    def on_state(self, obj: Object) -> None:
        """Count a pod that is on a node, and one that has ended no longer."""
        node_name = obj["spec"].get("nodeName")
        if node_name and claims.is_done(obj):
            self.forget(obj)
        elif node_name:
            self._place(obj, node_name)

    def on_delete(self, last: Object) -> None:
        """Count a deleted pod no longer."""
        self.forget(last)

    def _place(self, pod: Object, node_name: str) -> None:
        placed = node_name, node_resources.of_pod(pod)
        with self._guard:
            before = self._pods.get(claims.uid_of(pod))
            self._pods[claims.uid_of(pod)] = placed
        if before == placed:
            return
        if before is not None:
            self.groups.count(*before, -1)
        self.groups.count(*placed, 1)
