"""Watches: each selects commits, gathers their lines, and writes them once per turn of the loop.

Flushing once per turn makes five watchers nearly as cheap as one.
"""

import asyncio
import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from harness.apiserver.endpoints import list_pages, request_info, response_encoding
from harness.apiserver.errors import status_errors
from harness.apiserver.faults import injection
from harness.apiserver.registry import conversion
from harness.apiserver.scheme import api_types, resources
from harness.apiserver.serializer import protobuf
from harness.apiserver.server import servers
from harness.apiserver.storage import stored_objects, watch_cache

BOOKMARK_INTERVAL_S = 10.0
LAST_BOOKMARK_BEFORE_END_S = 2.0
_PAST_STEP_BYTES = 64 * 1024
_INITIAL_EVENTS_END = {"k8s.io/initial-events-end": "true"}


class ResponseStream(Protocol):
    """An answer that goes on, on some connection."""

    def write_head(self, status: int, content_type: str) -> None:
        """Begin."""

    def write_chunk(self, chunk: bytes) -> None:
        """Go on."""

    def when_writable(self, call: Callable[[], None]) -> None:
        """Call this soon, when the client has read most of what it was sent; never when it is gone."""

    def end_stream(self) -> None:
        """End the response."""

    def abort(self) -> None:
        """End the connection at once."""


class Watch:
    """One watch: selects commits, gathers their lines, and writes them once per turn of the loop."""

    def __init__(
        self,
        server: servers.Server,
        connection: ResponseStream,
        request: request_info.Request,
        target: request_info.Target,
    ) -> None:
        """400, 406, 422 and 500 for a watch that cannot be."""
        self._server, self._connection = server, connection
        self._request, self._selection = request, request.selection(target)
        self._rendering = response_encoding.Rendering(
            request, target.resource, server.now, is_list=True, is_watch=True
        )
        self._frame = protobuf.event_frame if self._rendering.is_protobuf else server.framer.line
        self._timeout_s = list_pages.watch_timeout_s(request)
        self._version = list_pages.watch_version(request)
        self.resource_key = resources.table_of(target.resource)
        self._converts = self.resource_key is not target.resource
        self._lines: list[bytes] = []
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._loop = asyncio.get_running_loop()
        self._held: list[bytes] | None = None
        """Lines that wait for the past to be sent, or for a fault to end; None when none do."""
        self._is_catching_up = False
        self._held_bytes = 0
        self._is_over = False
        self.on_end: Callable[[], None] | None = None
        """Told once that the watch is over."""

    def start(self) -> None:
        """Send what is owed from the past, then follow; StatusError when the request is wrong."""
        self._connection.write_head(200, self._rendering.content_type)
        try:
            past = self._past()
        except status_errors.StatusError as error:
            self._fail(error)
            return
        self._server.add_watch(self)
        self._set_timers()
        self._held, self._is_catching_up = [], True
        self._send_past(past)

    def offer(self, commit: watch_cache.Commit) -> None:
        """A commit has happened."""
        if self._version and commit.object.resource_version <= self._version:
            return  # it waits for a version that is not there yet
        seen = self._selection.sees(commit)
        if seen is None:
            return
        if self._converts:
            seen = (seen[0], conversion.outward(self._selection.resource, seen[1]))
        if self._server.faults is not None and self._held is None:
            self._meet_fault(self._server.faults, seen)
        else:
            self._put_seen(seen)

    def end(self) -> None:
        """End in order: everything until now is sent, unless the past is not all sent yet; then the stream ends."""
        if not self._is_catching_up:
            self._release()
        self._flush()
        self.close()
        self._connection.end_stream()

    def close(self) -> None:
        """The connection is gone, or will be."""
        self._is_over = True
        for timer in self._timers.values():
            timer.cancel()
        self._server.remove_watch(self)
        on_end, self.on_end = self.on_end, None
        if on_end is not None:
            on_end()

    def _fail(self, error: status_errors.StatusError) -> None:
        """The last event is an error."""
        line = self._frame("ERROR", self._rendering.event_of(error.to_status()))
        self._put_line(line)
        self.end()

    # -------------------------------------------------------------- faults

    def _meet_fault(
        self, registry: injection.Faults, seen: tuple[watch_cache.EventType, stored_objects.Stored]
    ) -> None:
        """Put the event, or what a fault makes of it."""
        applied = registry.strike("event", self._facts(seen)) if registry.wants("event") else None
        match applied.action if applied else None:
            case injection.Drop():
                self._connection.abort()
            case injection.Gone():
                stored = seen[1]
                self._fail(
                    status_errors.expired(stored.resource_version - 1, stored.resource_version)
                )
            case injection.Block() | injection.Delay() if applied is not None:
                self._held = []
                self._put_seen(seen)
                registry.wait(applied, self._release)
            case _:
                self._put_seen(seen)

    def _facts(self, seen: tuple[watch_cache.EventType, stored_objects.Stored]) -> injection.Facts:
        kind, stored = seen
        return injection.Facts(
            method=self._request.method,
            path=self._request.path,
            user_agent=self._request.headers.get("user-agent", ""),
            name=stored.name,
            event_type=kind,
            resource_version=stored.resource_version,
        )

    def _release(self) -> None:
        """What was held is sent, and nothing is held any more."""
        held, self._held, self._held_bytes = self._held, None, 0
        for line in held or ():
            self._put_line(line)

    # -------------------------------------------------------------- sending

    def _past(self) -> Iterator[bytes]:
        """The lines of the objects as they are, or of the changes since the version that was asked for; 410 at once."""
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
        return (self._line((kind, conversion.outward(resource, stored))) for kind, stored in seen)

    def _send_past(self, past: Iterator[bytes]) -> None:
        """Send some of it; go on when the client has read that. What happens meanwhile waits."""
        if self._is_over:
            return
        size = 0
        for line in past:
            self._send_line(line)
            size += len(line)
            if size > _PAST_STEP_BYTES:
                self._connection.when_writable(functools.partial(self._send_past, past))
                return
        self._is_catching_up = False
        self._release()

    def _set_timers(self) -> None:
        timeout_s = self._timeout_s
        if timeout_s:
            self._timers["end"] = self._loop.call_later(timeout_s, self.end)
        if self._request.flag("allowWatchBookmarks"):
            self._await_bookmark(timeout_s - LAST_BOOKMARK_BEFORE_END_S if timeout_s else math.inf)

    def _await_bookmark(self, left_s: float) -> None:
        """Another one after the interval; the last one just before the end, from which a client resumes."""
        if left_s <= 0:
            return
        wait_s = min(BOOKMARK_INTERVAL_S, left_s)
        self._timers["bookmark"] = self._loop.call_later(wait_s, self._bookmark, left_s - wait_s)

    def _bookmark(self, left_s: float) -> None:
        self._put_line(self._bookmark_line())
        self._await_bookmark(left_s)

    def _bookmark_line(self, *, annotations: dict[str, str] | None = None) -> bytes:
        resource = self._selection.resource
        document: dict[str, Any] = api_types.of(resource).zero()
        document["metadata"] = {"resourceVersion": str(self._server.store.resource_version)}
        if annotations:
            document["metadata"]["annotations"] = annotations
        named = {"kind": resource.kind, "apiVersion": resource.api_version} | document
        return self._frame("BOOKMARK", self._rendering.bookmark(named))

    def _line(self, seen: tuple[watch_cache.EventType, stored_objects.Stored]) -> bytes:
        kind, stored = seen
        return self._frame(kind, self._rendering.event(stored))

    def _put_seen(self, seen: tuple[watch_cache.EventType, stored_objects.Stored]) -> None:
        self._put_line(self._line(seen))

    def _put_line(self, line: bytes) -> None:
        if self._held is not None:
            self._held.append(line)
            self._held_bytes += len(line)
            if self._held_bytes > self._server.limits.watch_unread_bytes_max:
                self._connection.abort()
        else:
            self._send_line(line)

    def _send_line(self, line: bytes) -> None:
        if not self._lines:
            self._server.turn.show_events(self._flush)
        self._lines.append(line)

    def _flush(self) -> None:
        if self._lines:
            lines, self._lines = self._lines, []
            self._connection.write_chunk(self._server.framer.chunk(lines))
