"""The known nodes in natural order."""

from collections.abc import Sequence

from harness import concurrency
from harness.model.objects import Object
from harness.subject.objects import change_handlers, nodes


class NodeList(change_handlers.Changes):
    """The known nodes; an event handler of their informer."""

    def __init__(self) -> None:
        super().__init__(self._replace)
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

    def _replace(self, old: Object | None, new: Object | None) -> None:
        with self._guard:
            if new is None and old:
                self._nodes.pop(old["metadata"]["name"], None)
            elif new:
                self._nodes[new["metadata"]["name"]] = new
            self._listed = None
            self._names = self._names if old and new else None
