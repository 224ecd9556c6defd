"""Watches: each selects commits, gathers their lines, and writes them once per turn of the loop.

Flushing once per turn makes five watchers nearly as cheap as one.
"""

import asyncio
from typing import Any, Protocol

from harness.apiserver import handling, requesting, serving, statuses, storing, watching
from harness.apiserver import store as stores

BOOKMARK_INTERVAL_S = 10.0
_INITIAL_EVENTS_END = {"k8s.io/initial-events-end": "true"}


class Stream(Protocol):
    """An answer that goes on, on some connection."""

    def write_head(self, status: int, content_type: str) -> None:
        """Begin."""

    def write_chunk(self, data: bytes) -> None:
        """Go on."""

    def end_stream(self) -> None:
        """End the answer, and the connection with it."""


class Watch:
    """One watch: selects commits, gathers their lines, and writes them once per turn of the loop."""

    def __init__(
        self,
        server: serving.Server,
        connection: Stream,
        request: requesting.Request,
        selection: watching.Selection,
    ) -> None:
        self._server, self._connection = server, connection
        self._request, self._selection = request, selection
        self.resource_key = stores.table_of(selection.resource)
        self._lines: list[bytes] = []
        self._timers: list[asyncio.TimerHandle] = []
        self._loop = asyncio.get_running_loop()
        self._plain = not request.wants_table()

    def start(self) -> None:
        """Send what is owed from the past, then follow; StatusError when the request is wrong."""
        version = self._request.integer("resourceVersion") or 0
        initial = self._request.flag("sendInitialEvents")
        self._connection.write_head(200, handling.JSON)
        try:
            self._send_past(version, initial=initial)
        except statuses.StatusError as error:
            self._put(b"ERROR", storing.encode(error.to_status()))
            self._flush()
            self._connection.end_stream()
            return
        self._server.add_watch(self)
        self._set_timers()

    def offer(self, commit: watching.Commit) -> None:
        """A commit has happened."""
        seen = self._selection.sees(commit)
        if seen is not None:
            self._put_seen(seen)

    def close(self) -> None:
        """The connection is gone."""
        for timer in self._timers:
            timer.cancel()
        self._server.remove_watch(self)

    def _send_past(self, version: int, *, initial: bool) -> None:
        if version == 0 or initial:
            for stored in self._server.store.select(self._selection):
                self._put_seen(("ADDED", stored))
            if initial:
                self._put_bookmark(annotations=_INITIAL_EVENTS_END)
            return
        commits = self._server.store.commits_after(self._selection.resource, version)
        for seen in self._selection.sees_all(commits):
            self._put_seen(seen)

    def _set_timers(self) -> None:
        timeout_s = self._request.integer("timeoutSeconds")
        if timeout_s:
            self._timers.append(self._loop.call_later(timeout_s, self._time_out))
        if self._request.flag("allowWatchBookmarks"):
            self._timers.append(self._loop.call_later(BOOKMARK_INTERVAL_S, self._bookmark))

    def _time_out(self) -> None:
        self._flush()
        self.close()
        self._connection.end_stream()

    def _bookmark(self) -> None:
        self._put_bookmark()
        self._timers = [timer for timer in self._timers if not timer.cancelled()]
        self._timers.append(self._loop.call_later(BOOKMARK_INTERVAL_S, self._bookmark))

    def _put_bookmark(self, *, annotations: dict[str, str] | None = None) -> None:
        meta: dict[str, Any] = {"resourceVersion": str(self._server.store.resource_version)}
        if annotations:
            meta["annotations"] = annotations
        resource = self._selection.resource
        document = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": meta}
        self._put(b"BOOKMARK", storing.encode(document))

    def _put_seen(self, seen: tuple[watching.EventType, storing.Stored]) -> None:
        kind, stored = seen
        if self._plain:
            self._put(kind.encode(), stored.data)
        else:
            resource = self._selection.resource
            body = handling.event_object(self._request, resource, stored, self._server.now())
            self._put(kind.encode(), body)

    def _put(self, kind: bytes, body: bytes) -> None:
        if not self._lines:
            self._loop.call_soon(self._flush)
        self._lines.append(b'{"type":"%b","object":%b}\n' % (kind, body))

    def _flush(self) -> None:
        if self._lines:
            chunk = b"".join(self._lines)
            self._lines.clear()
            self._connection.write_chunk(chunk)
