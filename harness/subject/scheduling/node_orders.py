"""The order in which the nodes are searched for a pod, and which of them have no room for it.

In natural order, so that all pods compete for the same devices; or best first, as kube-scheduler's
scores have it.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from harness import concurrency
from harness.model.objects import Object
from harness.subject.objects import nodes
from harness.subject.plugin import scheduling_attempts
from harness.subject.scheduling import assigned_pods, node_resources


class NodeList:
    """The known nodes; an event handler of their informer."""

    def __init__(self) -> None:
        self._guard = concurrency.lock("node-list")
        self._nodes: dict[str, Object] = {}
        self._names: list[str] | None = None
        """Nodes in natural order; None after a node has come or gone."""
        self._listed: tuple[Object, ...] | None = None
        """None after any change."""

    def listed(self) -> Sequence[Object]:
        """Return the nodes in natural order; the same object until a node changes."""
        with self._guard:
            if self._names is None:
                self._names = sorted(self._nodes, key=nodes.natural_order)
            if self._listed is None:
                self._listed = tuple(map(self._nodes.__getitem__, self._names))
            return self._listed

    def on_add(self, obj: Object, *, initial: bool) -> None:
        del initial
        with self._guard:
            self._nodes[obj["metadata"]["name"]] = obj
            self._names = self._listed = None

    def on_update(self, old: Object, new: Object) -> None:
        """Replace a node."""
        del old
        with self._guard:
            self._nodes[new["metadata"]["name"]] = new
            self._listed = None

    def on_delete(self, last: Object) -> None:
        """Remove a node."""
        with self._guard:
            self._nodes.pop(last["metadata"]["name"], None)
            self._names = self._listed = None


@dataclasses.dataclass(frozen=True, slots=True)
class Candidates:
    """The nodes for one attempt."""

    nodes: Iterable[Object]
    """Nodes in the order of the search; those that are known to refuse the claims are left out."""
    refusal: Callable[[Object], str | None]
    """Returns why a node does not accept the pod, apart from devices; None if it does."""
    score: Callable[[Object], int]
    """Returns how well the node suits, apart from devices."""


class NodeOrder(Protocol):
    """An order of nodes."""

    def candidates(
        self, attempt: scheduling_attempts.Attempt, known: Sequence[Object]
    ) -> Candidates:
        """Return the nodes to filter; `known` are all, in natural order."""
        ...

    def note_end(self, known: Sequence[Object], last: Object) -> None:
        """Remember the last node that was filtered."""
        ...


class NaturalOrder:
    """The nodes by their names, whatever is requested of them."""

    def candidates(
        self, attempt: scheduling_attempts.Attempt, known: Sequence[Object]
    ) -> Candidates:
        """Return the nodes from the first one on."""
        return Candidates(
            without_refused(known, attempt.refused),
            lambda node: nodes.refusal(node, attempt.pod),
            lambda _: 0,
        )

    def note_end(self, known: Sequence[Object], last: Object) -> None:
        """Begin the next search with the first node again."""


class BestFirst:
    """The nodes by their scores, without those that have too little left for the pod."""

    def __init__(self, assigned: assigned_pods.AssignedPods) -> None:
        self._assigned = assigned

    def candidates(
        self, attempt: scheduling_attempts.Attempt, known: Sequence[Object]
    ) -> Candidates:
        """Return the nodes with the highest score first, the first of equals first."""
        del known
        request = node_resources.of_pod(attempt.pod)
        return Candidates(
            without_refused(self._assigned.groups.best_first(request), attempt.refused),
            lambda node: nodes.refusal(node, attempt.pod) or self._assigned.refusal(node, request),
            lambda node: self._assigned.groups.score(node, request),
        )

    def note_end(self, known: Sequence[Object], last: Object) -> None:
        """Do nothing: the scores say where a search begins."""


def without_refused(
    ordered: Iterable[Object], refused: Mapping[str, Object] | None
) -> Iterable[Object]:
    """Return the nodes that are not known to refuse the claims."""
    if not refused:
        return ordered
    return (node for node in ordered if refused.get(node["metadata"]["name"]) is not node)
