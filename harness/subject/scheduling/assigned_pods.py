"""The pods on nodes and what they request; they include those that are about to be bound.

After the scheduler's cache in pkg/scheduler/backend/cache: a pod is assumed to be on its node once
devices are reserved for it there, and forgotten if it cannot be bound.
"""

import bisect
import collections
import heapq
from collections.abc import Callable, Iterator, Sequence

from harness import concurrency
from harness.client import informers
from harness.model.objects import Object
from harness.subject.objects import claims, nodes
from harness.subject.scheduling import node_resources

_Entry = tuple[tuple[int, str], Object]
"""A node after what it is sorted by, which no other node has."""


class NodeGroups(informers.StateHandler):
    """The nodes by what they offer and what is requested; an event handler of their informer."""

    def __init__(self) -> None:
        self._guard = concurrency.lock("node-groups")
        self._nodes: dict[str, Object] = {}
        self._requested: dict[str, collections.Counter[node_resources.PodRequest]] = {}
        """The requests of the pods by name of their node, which need not be known."""
        self._uses: dict[str, node_resources.NodeUse] = {}
        self._groups: dict[node_resources.NodeUse, list[_Entry]] = {}
        """Ordered as the nodes."""

    def best_first(self, request: node_resources.PodRequest) -> Iterator[Object]:
        """Yield the nodes as they are now, those with the highest score first."""
        by_score: dict[int, list[list[_Entry]]] = collections.defaultdict(list)
        with self._guard:
            for use, entries in self._groups.items():
                by_score[node_resources.score(use, request)].append(entries.copy())
        for score in sorted(by_score, reverse=True):
            for _, node in _merged(by_score[score]):
                yield node

    def score(self, node: Object, request: node_resources.PodRequest) -> int:
        """Return the score of a node for a pod; 0 if the node is gone."""
        use = self._use_of(node)
        return node_resources.score(use, request) if use else 0

    def refusal(self, node: Object, request: node_resources.PodRequest) -> str | None:
        """Return why a node has too little for a pod; None if it has enough, or is gone."""
        use = self._use_of(node)
        return node_resources.refusal(use, request) if use else None

    def count(self, node_name: str, request: node_resources.PodRequest, number: int) -> None:
        """Count one more pod on a node (`number` 1), or one less (-1)."""
        with self._guard:
            requested = self._requested.setdefault(node_name, collections.Counter())
            requested[request] += number
            if not requested[request]:
                del requested[request]
            if not requested:
                del self._requested[node_name]
            if node_name in self._nodes:
                changed = self._uses[node_name].changed_by(request, number)
                self._enter(self._nodes[node_name], changed)

    # ------------------------------------------------------- the informer's side

    def on_state(self, obj: Object) -> None:
        """Add or replace a node, with the pods that are on it."""
        name = obj["metadata"]["name"]
        use = node_resources.of_node(obj)
        with self._guard:
            for request, number in self._requested.get(name, {}).items():
                use = use.changed_by(request, number)
            self._enter(obj, use)

    def on_delete(self, last: Object) -> None:
        """Remove a node; its pods remain known, in case it comes back."""
        with self._guard:
            self._take_out(last["metadata"]["name"])

    def _enter(self, node: Object, use: node_resources.NodeUse) -> None:
        """Put a node in the group of its use, and take it out of the one before."""
        name = node["metadata"]["name"]
        self._take_out(name)
        self._nodes[name], self._uses[name] = node, use
        entries, key = self._groups.setdefault(use, []), nodes.natural_order(name)
        entries.insert(bisect.bisect_left(entries, key, key=_sorted_by), (key, node))

    def _take_out(self, name: str) -> None:
        if self._nodes.pop(name, None) is None:
            return
        use, key = self._uses.pop(name), nodes.natural_order(name)
        entries = self._groups[use]
        del entries[bisect.bisect_left(entries, key, key=_sorted_by)]
        if not entries:
            del self._groups[use]

    def _use_of(self, node: Object) -> node_resources.NodeUse | None:
        with self._guard:
            return self._uses.get(node["metadata"]["name"])


def _merged(groups: Sequence[list[_Entry]]) -> Iterator[_Entry]:
    return iter(groups[0]) if len(groups) == 1 else heapq.merge(*groups, key=_sorted_by)


def _sorted_by(entry: _Entry) -> tuple[int, str]:
    return entry[0]


class AssignedPods(informers.StateHandler):
    """Counts the pods of each node; an event handler of the informer of pods."""

    def __init__(self, on_freed: Callable[[], None] = lambda: None) -> None:
        """`on_freed()` is called when a pod has left its node while another one lacks room."""
        self.groups = NodeGroups()
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
