"""The assume cache: informer state, overlaid with the scheduler's own writes.

After pkg/scheduler/util/assumecache/assume_cache.go. A change is made under the lock and queues
events; the thread that made the change delivers them to the handlers outside the lock. Only one
thread emits at a time, and a second one waits until the first has finished: when `assume` returns,
all its effects are visible (the fix of kubernetes#136269).
"""

import collections
import dataclasses
import itertools
from collections.abc import Callable, Iterable

from harness import concurrency
from harness.client import informers
from harness.client.passed_versions import PassedVersion, version_of
from harness.model.objects import Object
from harness.subject.objects import claims
from harness.subject.telemetry import klog


@dataclasses.dataclass(frozen=True, slots=True)
class CacheEvent:
    """A change of an object that has not been delivered to one of the handlers yet."""

    obj: Object
    """The object that changed."""
    handler: informers.EventHandler
    call: Callable[[informers.EventHandler], None]
    number: int
    """The number of the change, from 0."""

    def deliver(self) -> None:
        meta = self.obj["metadata"]
        concurrency.step(
            "assume-cache.event.popped",
            claim=meta["uid"],
            version=meta["resourceVersion"],
            handler=type(self.handler).__name__,
        )
        self.call(self.handler)


_KIND = "ResourceClaim"
_LATEST, _API = "latest", "api"
_PASSED = "passed"
_EVENTS, _FIRST_EVENT, _LAST_EVENT = "events", "first event", "last event"
"""The parts of the cache: the newest version of each key, and the informer's; the version that the
informer has passed; the events of each change, and both ends of their queue.

Taking an event and appending another one commute, as at the two ends of a channel. Finding that the
queue is empty does not commute with appending.
"""


class AssumeError(Exception):
    """The object cannot be assumed: it is unknown, or older than the cached version."""


class UnknownObjectError(AssumeError):
    """The informer has not delivered the object yet, or it is gone."""


@dataclasses.dataclass(slots=True)
class _Entry:
    latest: Object
    """The newest version, including assumed ones."""
    api: Object
    """The newest version that the informer delivered."""


class AssumeCache(informers.EventHandler):
    """The newest version of each object, by `namespace/name`; an event handler of an informer."""

    def __init__(self, handlers: Iterable[informers.EventHandler] = ()) -> None:
        self._changed = concurrency.condition("assume-cache")
        self._entries: dict[str, _Entry] = {}
        self._passed = PassedVersion()
        self._events: collections.deque[CacheEvent] = collections.deque()
        self._numbers = itertools.count()
        self._emitting = concurrency.baton(self._changed, "assume-cache-emitter")
        self._handlers = tuple(handlers)

    def get(self, key: str) -> Object | None:
        with concurrency.in_parts(self._changed):
            concurrency.reads(self._changed, _LATEST, key)
            entry = self._entries.get(key)
            return entry.latest if entry else None

    def objects(self) -> list[Object]:
        with self._changed:
            return [entry.latest for entry in self._entries.values()]

    def has_deleted(self, obj: Object) -> bool:
        """Return whether the informer has delivered that an object was deleted.

        `obj`: the object in a version that it has had. An object that is not known may be one whose
        events have not come yet; the version that the informer has passed distinguishes the two.
        kube-scheduler has no such method.
        """
        with concurrency.in_parts(self._changed):
            return self._has_deleted(obj)

    def learn(self, obj: Object) -> None:
        """Store an object that was read from the API server, unless it is known to be deleted.

        Return after all handlers have seen it, and what the informer has stored before.
        """
        with concurrency.in_parts(self._changed):
            if not self._has_deleted(obj):
                self._learn(obj, initial=False)
        self._emit()

    def assume(self, obj: Object) -> None:
        """Store an object that the scheduler has written; return after all handlers have seen it.

        Raises UnknownObjectError if the object is unknown, and AssumeError if the cache holds a
        newer version.
        """
        try:
            with concurrency.in_parts(self._changed):
                self._assume(informers.key_of(obj), obj)
            key, version = informers.key_of(obj), version_of(obj)
            klog.info(5, "Assumed object", description=_KIND, cacheKey=key, version=version)
        finally:
            self._emit()

    def restore(self, key: str) -> None:
        """Discard the assumed version of an object and return to the informer's version."""
        with concurrency.in_parts(self._changed):
            concurrency.reads(self._changed, _API, key)
            concurrency.reads(self._changed, _LATEST, key)
            entry = self._entries.get(key)
            if entry is not None and entry.latest is not entry.api:
                concurrency.writes(self._changed, _LATEST, key)
                self._push_update(entry.latest, entry.api)
                entry.latest = entry.api
        klog.info(5, "Restored object", description=_KIND, cacheKey=key)
        self._emit()

    # ------------------------------------------------------------ the informer's side

    def on_list_begin(self) -> None:
        with concurrency.in_parts(self._changed):
            concurrency.writes(self._changed, _PASSED)
            self._passed.begin_list()

    def on_list_end(self, version: str) -> None:
        with concurrency.in_parts(self._changed):
            concurrency.writes(self._changed, _PASSED)
            self._passed.end_list(version)

    def on_add(self, obj: Object, *, initial: bool) -> None:
        with concurrency.in_parts(self._changed):
            self._learn(obj, initial=initial)
            self._pass(obj)
        self._emit()

    def on_update(self, old: Object, new: Object) -> None:
        del old
        with concurrency.in_parts(self._changed):
            self._learn(new, initial=False)
            self._pass(new)
        self._emit()

    def on_delete(self, last: Object) -> None:
        with self._changed:
            entry = self._entries.pop(informers.key_of(last), None)
            if entry is not None:
                self._push(last, lambda handler: handler.on_delete(entry.latest))
            self._pass(last)
        self._emit()

    def _has_deleted(self, obj: Object) -> bool:
        key = informers.key_of(obj)
        concurrency.reads(self._changed, _API, key)
        concurrency.reads(self._changed, _PASSED)
        entry = self._entries.get(key)
        is_known = entry is not None and claims.uid_of(entry.latest) == claims.uid_of(obj)
        return not is_known and self._passed.covers(obj)

    def _pass(self, obj: Object) -> None:
        concurrency.writes(self._changed, _PASSED)
        self._passed.deliver(obj)

    def _learn(self, obj: Object, *, initial: bool) -> None:
        key = informers.key_of(obj)
        concurrency.reads(self._changed, _LATEST, key)
        concurrency.writes(self._changed, _API, key)
        entry = self._entries.get(key)
        if entry is None:
            concurrency.writes(self._changed, _LATEST, key)
            self._entries[key] = _Entry(obj, obj)
            self._push(obj, lambda handler: handler.on_add(obj, initial=initial))
        elif version_of(obj) > version_of(entry.latest):
            concurrency.writes(self._changed, _LATEST, key)
            self._push_update(entry.latest, obj)
            entry.latest = entry.api = obj
        else:
            self._keep_assumed(entry, obj)

    def _keep_assumed(self, entry: _Entry, obj: Object) -> None:
        """Handle an object from the informer that has been assumed before, or a later one has.

        `restore` must not go back behind it, because the informer does not deliver it again.
        kube-scheduler's cache does not store it.
        """
        if version_of(obj) > version_of(entry.api):
            entry.api = obj

    def _assume(self, key: str, obj: Object) -> None:
        concurrency.reads(self._changed, _LATEST, key)
        entry = self._entries.get(key)
        if entry is None:
            raise UnknownObjectError(f"{key} is not known")
        if version_of(obj) < version_of(entry.latest):
            raise AssumeError(f"{key} is out of sync: a newer version is known")
        concurrency.writes(self._changed, _LATEST, key)
        self._push_update(entry.latest, obj)
        entry.latest = obj

    # -------------------------------------------------------------------- events

    def _push_update(self, old: Object, new: Object) -> None:
        self._push(new, lambda handler: handler.on_update(old, new))

    def _push(self, obj: Object, call: Callable[[informers.EventHandler], None]) -> None:
        number = next(self._numbers)
        concurrency.writes(self._changed, _LAST_EVENT)
        concurrency.writes(self._changed, _EVENTS, str(number))
        self._events.extend(CacheEvent(obj, handler, call, number) for handler in self._handlers)

    def _emit(self) -> None:
        """Deliver all queued events in order, as the only emitting thread."""
        if not self._begin_emitting():
            return
        try:
            while (event := self._next_event()) is not None:
                event.deliver()
        except BaseException:
            with self._changed:
                self._emitting.put_down()
            raise

    def _begin_emitting(self) -> bool:
        """Become the only emitting thread; False: there is nothing to deliver."""
        with self._emitting.awaited():
            if not self._has_events():
                return False
            self._emitting.take()
        return True

    def _next_event(self) -> CacheEvent | None:
        """Take the oldest event; if there is none, stop emitting under the same lock."""
        with concurrency.in_parts(self._changed):
            event = self._take_event()
            if event is None:
                self._emitting.put_down()
            return event

    def _take_event(self) -> CacheEvent | None:
        """Take the oldest event, under the lock; None: there is none."""
        if not self._has_events():
            return None
        event = self._events.popleft()
        concurrency.writes(self._changed, _FIRST_EVENT)
        concurrency.writes(self._changed, _EVENTS, str(event.number))
        return event

    def _has_events(self) -> bool:
        if not self._events:
            concurrency.reads(self._changed, _LAST_EVENT)
            return False
        concurrency.reads(self._changed, _EVENTS, str(self._events[0].number))
        return True
