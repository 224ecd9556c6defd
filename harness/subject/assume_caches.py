"""The assume cache: what the API server said last, overlaid with what the scheduler itself has just written.

After k8s.io/kubernetes/pkg/scheduler/util/assumecache. Changes are made under the lock and queue an event;
events are handed to the handlers outside the lock by whoever caused a change. Emitting is exclusive: a caller that meets
another emitter waits for its end, so that when `assume` returns, every effect of it can be seen.
"""

import collections
import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

from harness import concurrency
from harness.client import informers

Object = dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class CacheEvent:
    """A change of an object that one handler is still to be told of."""

    obj: Object
    """The object that it is about."""
    handler: informers.EventHandler
    tell: Callable[[informers.EventHandler], None]

    def deliver(self) -> None:
        """Tell the handler."""
        meta = self.obj["metadata"]
        concurrency.step(
            "assume-cache.event.popped",
            claim=meta["uid"],
            version=meta["resourceVersion"],
            handler=type(self.handler).__name__,
        )
        self.tell(self.handler)


class AssumeError(Exception):
    """The object cannot be assumed: it is unknown, or older than what the cache holds."""


@dataclasses.dataclass(slots=True)
class _Entry:
    latest: Object
    """With what was assumed."""
    api: Object
    """As the API server had it."""


class AssumeCache:
    """Objects by `namespace/name`, newest version wins; itself the handler of an informer."""

    def __init__(self, handlers: Iterable[informers.EventHandler] = ()) -> None:
        self._changed = concurrency.condition("assume-cache")
        self._entries: dict[str, _Entry] = {}
        self._events: collections.deque[CacheEvent] = collections.deque()
        self._emitting = False
        self._handlers = tuple(handlers)

    def get(self, key: str) -> Object | None:
        """The newest known state."""
        with self._changed:
            entry = self._entries.get(key)
            return entry.latest if entry else None

    def objects(self) -> list[Object]:
        """The newest known state of everything."""
        with self._changed:
            return [entry.latest for entry in self._entries.values()]

    def assume(self, obj: Object) -> None:
        """Take what the scheduler has written for the truth; when this returns, every handler has seen it.

        AssumeError when the object is unknown or the cache already holds a newer version.
        """
        try:
            with self._changed:
                self._assume(informers.key_of(obj), obj)
        finally:
            self._emit()

    def restore(self, key: str) -> None:
        """Forget what was assumed; back to what the API server had."""
        with self._changed:
            entry = self._entries.get(key)
            if entry is not None and entry.latest is not entry.api:
                self._push_update(entry.latest, entry.api)
                entry.latest = entry.api
        self._emit()

    # ------------------------------------------------------------ the informer's side

    def on_add(self, obj: Object, *, initial: bool) -> None:
        """The informer has a new object."""
        with self._changed:
            self._learn(obj, initial=initial)
        self._emit()

    def on_update(self, old: Object, new: Object) -> None:
        """The informer has a new version."""
        del old
        with self._changed:
            self._learn(new, initial=False)
        self._emit()

    def on_delete(self, last: Object) -> None:
        """The informer has lost the object."""
        with self._changed:
            entry = self._entries.pop(informers.key_of(last), None)
            if entry is not None:
                self._push(last, lambda handler: handler.on_delete(entry.latest))
        self._emit()

    def _learn(self, obj: Object, *, initial: bool) -> None:
        entry = self._entries.get(informers.key_of(obj))
        if entry is None:
            self._entries[informers.key_of(obj)] = _Entry(obj, obj)
            self._push(obj, lambda handler: handler.on_add(obj, initial=initial))
        elif version_of(obj) > version_of(entry.latest):
            self._push_update(entry.latest, obj)
            entry.latest = entry.api = obj

    def _assume(self, key: str, obj: Object) -> None:
        entry = self._entries.get(key)
        if entry is None:
            raise AssumeError(f"{key} is not known")
        if version_of(obj) < version_of(entry.latest):
            raise AssumeError(f"{key} is out of sync: a newer version is known")
        self._push_update(entry.latest, obj)
        entry.latest = obj

    # -------------------------------------------------------------------- events

    def _push_update(self, old: Object, new: Object) -> None:
        self._push(new, lambda handler: handler.on_update(old, new))

    def _push(self, obj: Object, call: Callable[[informers.EventHandler], None]) -> None:
        self._events.extend(CacheEvent(obj, handler, call) for handler in self._handlers)

    def _emit(self) -> None:
        """Deliver every queued event, in order, as the only emitter."""
        if not self._begin_emitting():
            return
        try:
            while (event := self._next_event()) is not None:
                event.deliver()
        except BaseException:
            with self._changed:
                self._end_emitting()
            raise

    def _begin_emitting(self) -> bool:
        """Become the emitter, after the one that is emitting now."""
        with self._changed:
            while self._emitting:
                self._changed.wait()
            self._emitting = True
        return True

    def _next_event(self) -> CacheEvent | None:
        """Take the oldest event; without one, end emitting in the same breath."""
        with self._changed:
            if self._events:
                return self._events.popleft()
            self._end_emitting()
            return None

    def _end_emitting(self) -> None:
        self._emitting = False
        self._changed.notify()


def version_of(obj: Object) -> int:
    """The resourceVersion, as the integer that DRA relies on."""
    return int(obj["metadata"]["resourceVersion"])
