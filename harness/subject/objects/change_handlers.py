"""Event handlers of informers that pass on what an object was and what it is."""

from collections.abc import Callable

from harness.client import informers
from harness.model.objects import Object

Change = Callable[[Object | None, Object | None], None]
"""Called with the object before (None: it is new) and after (None: it is gone)."""


class Changes(informers.EventHandler):
    """An event handler that calls one function for each change."""

    def __init__(self, change: Change, *, ignores_first: bool = False) -> None:
        """`ignores_first`: the objects of the first list are no change."""
        self._change, self._ignores_first = change, ignores_first

    def on_add(self, obj: Object, *, initial: bool) -> None:
        if not (initial and self._ignores_first):
            self._change(None, obj)

    def on_update(self, old: Object, new: Object) -> None:
        self._change(old, new)

    def on_delete(self, last: Object) -> None:
        self._change(last, None)
