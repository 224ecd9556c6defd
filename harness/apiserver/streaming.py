"""Watches: each selects commits, gathers their lines, and writes them once per turn of the loop.

Flushing once per turn makes five watchers nearly as cheap as one.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from harness.apiserver import (
    converting,
    faulting,
    handling,
    listing,
    rendering,
    requesting,
    schemas,
    serving,
    statuses,
    storing,
    watching,
)
from harness.apiserver import store as stores

BOOKMARK_INTERVAL_S = 10.0
_INITIAL_EVENTS_END = {"k8s.io/initial-events-end": "true"}


class Stream(Protocol):
    """An answer that goes on, on some connection."""

    def write_head(self, status: int, content_type: str) -> None:
        """Begin."""

    def write_chunk(self, chunk: bytes) -> None:
        """Go on."""

    def end_stream(self) -> None:
        """End the answer, and the connection with it."""

    def abort(self) -> None:
        """End the connection at once."""


class Watch:
    """One watch: selects commits, gathers their lines, and writes them once per turn of the loop."""

    def __init__(
        self,
        server: serving.Server,
        connection: Stream,
        request: requesting.Request,
        target: requesting.Target,
    ) -> None:
        """400, 406, 422 and 500 for a watch that cannot be."""
        self._server, self._connection = server, connection
        self._request, self._selection = request, request.selection(target)
        self._rendering = rendering.Rendering(
            request, target.resource, server.now, is_list=True, is_watch=True
        )
        self._version = listing.watch_version(request)
        self.resource_key = stores.table_of(target.resource)
        self._lines: list[bytes] = []
        self._timers: list[asyncio.TimerHandle] = []
        self._loop = asyncio.get_running_loop()
        self._held: list[bytes] | None = None
        """Lines that a fault holds back; None when none does."""
        self._held_bytes = 0
        self.on_end: Callable[[], None] | None = None
        """Told once that the watch is over."""

    def start(self) -> None:
        """Send what is owed from the past, then follow; StatusError when the request is wrong."""
        self._connection.write_head(200, handling.JSON)
        try:
            self._send_past()
        except statuses.StatusError as error:
            self._fail(error)
            return
        self._server.add_watch(self)
        self._set_timers()

    def offer(self, commit: watching.Commit) -> None:
        """A commit has happened."""
        if self._version and commit.object.resource_version <= self._version:
            return  # it waits for a version that is not there yet
        seen = self._selection.sees(commit)
        if seen is None:
            return
        seen = (seen[0], converting.outward(self._selection.resource, seen[1]))
        if self._server.faults is not None and self._held is None:
            self._meet_fault(self._server.faults, seen)
        else:
            self._put_seen(seen)

    def end(self) -> None:
        """End in order: everything until now is sent, then the stream ends."""
        self._release()
        self._flush()
        self.close()
        self._connection.end_stream()

    def close(self) -> None:
        """The connection is gone, or will be."""
        for timer in self._timers:
            timer.cancel()
        self._server.remove_watch(self)
        on_end, self.on_end = self.on_end, None
        if on_end is not None:
            on_end()

    def _fail(self, error: statuses.StatusError) -> None:
        """The last event is an error."""
        self._put("ERROR", storing.encode(error.to_status()))
        self.end()

    # -------------------------------------------------------------- faults

    def _meet_fault(
        self, registry: faulting.Faults, seen: tuple[watching.EventType, storing.Stored]
    ) -> None:
        """Put the event, or what a fault makes of it."""
        applied = registry.strike("event", self._facts(seen)) if registry.wants("event") else None
        match applied.action if applied else None:
            case faulting.Drop():
                self._connection.abort()
            case faulting.Gone():
                stored = seen[1]
                self._fail(statuses.expired(stored.resource_version - 1, stored.resource_version))
            case faulting.Hold() | faulting.Delay() if applied is not None:
                self._held = []
                self._put_seen(seen)
                registry.wait(applied, self._release)
            case _:
                self._put_seen(seen)

    def _facts(self, seen: tuple[watching.EventType, storing.Stored]) -> faulting.Facts:
        kind, stored = seen
        return faulting.Facts(
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

    def _send_past(self) -> None:
        """The objects as they are, or the changes since the version that was asked for."""
        initial = self._request.query.get("sendInitialEvents")
        if self._request.flag("sendInitialEvents") or (initial is None and not self._version):
            for stored in self._server.store.select(self._selection):
                self._put_seen(("ADDED", stored))
            if initial is not None and self._request.flag("allowWatchBookmarks"):
                self._put_bookmark(annotations=_INITIAL_EVENTS_END)
        elif self._version:
            resource = self._selection.resource
            commits = self._server.store.commits_after(resource, self._version)
            for kind, stored in self._selection.sees_all(commits):
                self._put_seen((kind, converting.outward(resource, stored)))

    def _set_timers(self) -> None:
        timeout_s = self._request.integer("timeoutSeconds")
        if timeout_s:
            self._timers.append(self._loop.call_later(timeout_s, self.end))
        if self._request.flag("allowWatchBookmarks"):
            self._timers.append(self._loop.call_later(BOOKMARK_INTERVAL_S, self._bookmark))

    def _bookmark(self) -> None:
        self._put_bookmark()
        self._timers = [timer for timer in self._timers if not timer.cancelled()]
        self._timers.append(self._loop.call_later(BOOKMARK_INTERVAL_S, self._bookmark))

    def _put_bookmark(self, *, annotations: dict[str, str] | None = None) -> None:
        resource = self._selection.resource
        document: dict[str, Any] = schemas.of(resource).zero()
        document["metadata"] = {"resourceVersion": str(self._server.store.resource_version)}
        if annotations:
            document["metadata"]["annotations"] = annotations
        named = {"kind": resource.kind, "apiVersion": resource.api_version} | document
        self._put("BOOKMARK", storing.encode(named))

    def _put_seen(self, seen: tuple[watching.EventType, storing.Stored]) -> None:
        kind, stored = seen
        self._put(kind, self._rendering.event(stored))

    def _put(self, kind: str, body: bytes) -> None:
        self._put_line(self._server.framer.line(kind, body))

    def _put_line(self, line: bytes) -> None:
        if self._held is not None:
            self._held.append(line)
            self._held_bytes += len(line)
            if self._held_bytes > self._server.limits.watch_unread_bytes_max:
                self._connection.abort()
            return
        if not self._lines:
            self._server.turn.show_events(self._flush)
        self._lines.append(line)

    def _flush(self) -> None:
        if self._lines:
            lines, self._lines = self._lines, []
            self._connection.write_chunk(self._server.framer.chunk(lines))
