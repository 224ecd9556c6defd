"""Watches: responses that are sent as fast as the client reads.

A watch selects commits, buffers their event lines, and writes them once per iteration of the event
loop, which makes five watches nearly as cheap as one.
"""

import asyncio
import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from harness.apiserver import json_codec
from harness.apiserver.endpoints import request_info, responses
from harness.apiserver.errors import status_errors
from harness.apiserver.registry import conversion
from harness.apiserver.scheme import api_types, resources
from harness.apiserver.server import http_messages, request_faults, servers
from harness.apiserver.storage import stored_objects, watch_cache
from harness.faults import event_queues

if TYPE_CHECKING:
    from harness.apiserver.server import connections

BOOKMARK_INTERVAL_S = 10.0
LAST_BOOKMARK_BEFORE_END_S = 2.0
"""Time between the last bookmark and the end of a watch with a timeout."""
_PAST_STEP_BYTES = 64 * 1024
"""Size of past events to send before other requests get their turn."""
_INITIAL_EVENTS_END = {"k8s.io/initial-events-end": "true"}
Seen = tuple[watch_cache.EventType, stored_objects.Stored]
"""An event that a watch sees: its type and its object."""


class Watch:
    """One watch."""

    def __init__(
        self,
        server: servers.Server,
        connection: "connections.Connection",
        request: request_info.Request,
        target: request_info.Target,
    ) -> None:
        """Raises StatusError 400 or 406 for an invalid watch."""
        self._server, self._connection = server, connection
        self._request, self._selection = request, request.selection(target)
        self._view = responses.View(request, target.resource, server.now)
        self._frame = server.framer.line
        self._timeout_s = request.integer("timeoutSeconds") or 0
        self._version = request.version
        self.resource_key = resources.table_of(target.resource)
        self._converts = self.resource_key is not target.resource
        self._lines: list[bytes] = []
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._loop = asyncio.get_running_loop()
        self._is_past_sent = False
        """False while every item waits because the past is being sent."""
        self._queue = event_queues.EventQueue(
            server.faults,
            gone=lambda version: self._error_line(status_errors.expired(version - 1, version)),
            on_due=self._go_on,
        )
        self._is_over = False
        self.on_end: Callable[[], None] | None = None
        """Called once when the watch is over."""
        self.on_sent: Callable[[int], None] | None = None
        """Called with the version up to which all events were handed to the connection."""
        self._sent = 0
        """The version up to which `_lines` have all events; 0: it is not known."""

    def start(self) -> None:
        """Send past events, then new ones; an error becomes the last event."""
        self._connection.write(http_messages.STREAM_HEAD)
        try:
            past = self._past()
        except status_errors.StatusError as error:  # it becomes the last event
            self._send_line(self._error_line(error))
            self.end()
            return
        self._server.add_watch(self)
        self._set_timers()
        asks_for_none = self._request.query.get("sendInitialEvents", "true").lower() != "true"
        is_gap = bool(self._queue) or (asks_for_none and not self._version)
        self._send_past(past, 0 if is_gap else self._server.store.resource_version)

    def offer(self, commit: watch_cache.Commit) -> None:
        """Send the event of a commit if the watch selects it."""
        if self._version and commit.object.resource_version <= self._version:
            return  # the watch asked for events after a version in the future
        seen = self._selection.sees(commit)
        if seen is None:
            return
        if self._converts:
            seen = (seen[0], conversion.outward(self._selection.resource, seen[1]))
        is_idle = self._is_past_sent and not self._queue
        if is_idle and not self._server.faults.has_event_faults:
            self._send_line(self._line(seen), commit.object.resource_version)
        else:
            self._put(self._item(seen))

    def end(self) -> None:
        """Send what is buffered and end the response; what waits is not sent."""
        self._flush()
        self.close()
        self._connection.end_stream()

    def close(self) -> None:
        """Stop receiving commits and cancel the timers."""
        self._is_over = True
        self._queue.close()
        for timer in self._timers.values():
            timer.cancel()
        self._server.remove_watch(self)
        on_end, self.on_end = self.on_end, None
        if on_end is not None:
            on_end()

    def _error_line(self, error: status_errors.StatusError) -> bytes:
        return self._frame("ERROR", json_codec.encode(error.to_status()))

    # -------------------------------------------------------------- faults

    @property
    def _may_be_hit(self) -> bool:
        return self._server.faults.wants("event", request_faults.client_of(self._request))

    def _item(self, seen: Seen, *, age_s: float = 0.0) -> event_queues.Item:
        """Return what is sent of an event that happened `age_s` seconds ago."""
        kind, stored = seen
        line, version = self._line(seen), stored.resource_version
        if not self._may_be_hit:
            return event_queues.Item(line, version=version)
        plural = self._selection.resource.plural
        facts = request_faults.of_event(self._request, plural, kind, version, stored)
        return self._queue.item(line, facts, age_s=age_s)

    # -------------------------------------------------------------- sending

    def _past(self) -> Iterator[bytes]:
        """Return the lines of all objects, or of the changes since the requested version.

        Raises StatusError 410 if that version is too old.
        """
        initial = self._request.query.get("sendInitialEvents")
        resource, store = self._selection.resource, self._server.store
        if self._request.flag("sendInitialEvents") or (initial is None and not self._version):
            found = store.select(self._selection)
            lines = (self._line(("ADDED", stored)) for stored in found)
            if initial is None or not self._request.flag("allowWatchBookmarks"):
                return lines
            return itertools.chain(lines, [self._bookmark_line(annotations=_INITIAL_EVENTS_END)])
        if not self._version:
            return iter(())
        seen = self._selection.sees_all(store.commits_after(resource, self._version))
        outward = ((kind, conversion.outward(resource, stored)) for kind, stored in seen)
        if self._may_be_hit:
            return iter(self._until_hit(outward))
        return map(self._line, outward)

    def _until_hit(self, events: Iterator[Seen]) -> list[bytes]:
        """Return the lines of past events until one is hit by a fault; that and later ones wait.

        Faults apply to events that a watch resumes from, as to new ones; a delay counts from the
        time when they happened. They do not apply to initial objects.
        """
        lines = []
        for seen in events:
            item = self._item(
                seen, age_s=self._server.version_times.age_s(seen[1].resource_version)
            )
            if item.applied is None and not self._queue:
                lines.append(item.frame)
            else:
                self._queue.put(item)
        return lines

    def _send_past(self, past: Iterator[bytes], version: int) -> None:
        """Send some past events, and more when the client has read those; new events wait.

        `version`: up to which they are all events; 0: the client does not have those before.
        """
        if self._is_over:
            return
        size = 0
        for line in past:
            self._send_line(line)
            size += len(line)
            if size > _PAST_STEP_BYTES:
                again = functools.partial(self._send_past, past, version)
                self._connection.when_writable(again)
                return
        self._sent = version
        if not self._lines:
            self._flush()
        self._is_past_sent = True
        self._go_on()

    def _set_timers(self) -> None:
        timeout_s = self._timeout_s
        if timeout_s:
            self._timers["end"] = self._loop.call_later(timeout_s, self.end)
        if self._request.flag("allowWatchBookmarks"):
            self._await_bookmark(timeout_s - LAST_BOOKMARK_BEFORE_END_S if timeout_s else math.inf)

    def _await_bookmark(self, left_s: float) -> None:
        """Schedule the next bookmark; the last one, to resume from, comes just before the end."""
        if left_s <= 0 or self._is_over:
            return
        wait_s = min(BOOKMARK_INTERVAL_S, left_s)
        self._timers["bookmark"] = self._loop.call_later(wait_s, self._bookmark, left_s - wait_s)

    def _bookmark(self, left_s: float) -> None:
        line, version = self._bookmark_line(), self._server.store.resource_version
        item = event_queues.Item(line, version=version)
        if self._may_be_hit:
            plural = self._selection.resource.plural
            facts = request_faults.of_event(self._request, plural, "BOOKMARK", version)
            item = self._queue.item(line, facts)
        self._put(item)
        self._await_bookmark(left_s)

    def _bookmark_line(self, *, annotations: dict[str, str] | None = None) -> bytes:
        resource = self._selection.resource
        document: dict[str, Any] = api_types.of(resource).zero()
        document["metadata"] = {"resourceVersion": str(self._server.store.resource_version)}
        if annotations:
            document["metadata"]["annotations"] = annotations
        named = {"kind": resource.kind, "apiVersion": resource.api_version} | document
        return self._frame("BOOKMARK", self._view.bookmark(named))

    def _line(self, seen: Seen) -> bytes:
        kind, stored = seen
        return self._frame(kind, self._view.one(stored))

    def _put(self, item: event_queues.Item) -> None:
        self._queue.put(item)
        self._go_on()
        if self._queue.size_bytes > self._server.limits.watch_unread_bytes_max:
            self._connection.abort()

    def _go_on(self) -> None:
        """Send the items whose turn has come."""
        while self._is_past_sent and self._queue.first is not None:
            self._perform(self._queue.pop())

    def _perform(self, item: event_queues.Item) -> None:
        """Send an item, and end the watch if that is what its fault does."""
        if item.frame:
            self._send_line(item.frame, item.version)
        match item.ending:
            case event_queues.Ending.CLOSE:
                self.close()
                self._connection.abort()
            case event_queues.Ending.END:
                self.end()
            case event_queues.Ending.RESET:
                self._flush()
                self.close()
                self._connection.reset()

    def _send_line(self, line: bytes, version: int = 0) -> None:
        if not self._lines:
            self._server.turn.show_events(self._flush)
        self._lines.append(line)
        self._sent = version or self._sent

    def _flush(self) -> None:
        if self._lines:
            lines, self._lines = self._lines, []
            self._connection.write_chunk(self._server.framer.chunk(lines))
        if self._sent and self.on_sent is not None:
            self.on_sent(self._sent)
        self._sent = 0
