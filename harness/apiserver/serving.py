"""HTTP around the store: connections, requests, answers, and the watches that never end.

One thread, one event loop. Requests are answered in the order in which they were read, each in one step; a watch is a list of
lines that is flushed once per turn of the loop, which makes five watchers nearly as cheap as one. The answer to a write and the events
it causes are two separate things: which a client sees first is not promised, exactly as in Kubernetes, and here a coin decides, so
that both orders happen often (one of the upstream races needs the event first).
"""

import asyncio
import collections
import hmac
import random
from collections.abc import Callable, Iterable
from typing import Any

import httptools

from harness.apiserver import handling, requesting, statuses, storing, watching
from harness.apiserver import store as stores

BODY_BYTES_MAX = 3 * 1024 * 1024
HEADER_BYTES_MAX = 64 * 1024
UNREAD_BYTES_MAX = 32 * 1024 * 1024
"""A watcher that leaves so much unread is dropped; it resumes, or is told 410."""
BOOKMARK_INTERVAL_S = 10.0
EVENTS_FIRST_PROBABILITY = 0.5
_REASONS = {
    200: b"OK",
    201: b"Created",
    400: b"Bad Request",
    401: b"Unauthorized",
    403: b"Forbidden",
    404: b"Not Found",
    405: b"Method Not Allowed",
    409: b"Conflict",
    410: b"Gone",
    413: b"Request Entity Too Large",
    415: b"Unsupported Media Type",
    422: b"Unprocessable Entity",
    500: b"Internal Server Error",
}
_INITIAL_EVENTS_END = {"k8s.io/initial-events-end": "true"}


class Server:
    """Everything that the connections of one API server share."""

    def __init__(
        self, store: stores.Store, *, token: str, now: Callable[[], str], coin: random.Random
    ) -> None:
        self.store = store
        self._coin = coin
        self.handler = handling.Handler(store, now=now)
        self.now = now
        self._token = f"Bearer {token}".encode()
        self._watches: dict[Any, set[Watch]] = {}
        self._loop = asyncio.get_running_loop()
        self._collecting = False
        self.connections: set[Connection] = set()
        store.listen(self._on_commit)

    def allows(self, authorization: bytes) -> bool:
        """Whether the Authorization header carries the token."""
        return hmac.compare_digest(authorization, self._token)

    def events_first(self) -> bool:
        """Whether the events of a write are sent before its answer."""
        return self._coin.random() < EVENTS_FIRST_PROBABILITY

    def add_watch(self, watch: "Watch") -> None:
        """Tell the watch of every commit from now on."""
        self._watches.setdefault(watch.resource_key, set()).add(watch)

    def remove_watch(self, watch: "Watch") -> None:
        """Tell the watch of nothing more."""
        self._watches.get(watch.resource_key, set()).discard(watch)

    def collect_garbage(self) -> None:
        """Collect in steps of its own, after whatever made the garbage was answered."""
        if not self._collecting:
            self._collecting = True
            self._loop.call_soon(self._collect_step)

    def _collect_step(self) -> None:
        self._collecting = False
        if self.store.collect_garbage_step():
            self.collect_garbage()

    def _on_commit(self, commit: watching.Commit) -> None:
        for watch in self._watches.get(commit.resource, ()):
            watch.offer(commit)
        self.collect_garbage()


class Watch:
    """One watch: selects commits, gathers their lines, and writes them once per turn of the loop."""

    def __init__(
        self,
        server: Server,
        connection: "Connection",
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


class Connection(asyncio.Protocol):
    """One connection, kept alive; requests on it are answered in order."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._watch: Watch | None = None
        self._owed: collections.deque[bytes | None] = collections.deque()
        """Answers that wait for events to be sent first; None closes the connection."""
        self._reset()

    def _reset(self) -> None:
        self._url = b""
        self._headers: dict[str, str] = {}
        self._header_bytes = 0
        self._authorization = b""
        self._body: list[bytes] = []
        self._body_bytes = 0

    # -------------------------------------------------------------- asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = transport  # type: ignore[assignment]
        self._server.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """End: whatever was going on has nobody to go to."""
        self._server.connections.discard(self)
        if self._watch is not None:
            self._watch.close()
        self._transport = None

    def data_received(self, data: bytes) -> None:
        """Parse; what is no HTTP ends the connection."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._refuse(statuses.bad_request("upgrades are not served"))
        except httptools.HttpParserError as error:
            cause = error.__context__
            if isinstance(cause, statuses.StatusError):
                self._refuse(cause)
            else:
                self._refuse(statuses.bad_request("the request is not HTTP/1.1"))

    # -------------------------------------------------------------- httptools

    def on_url(self, url: bytes) -> None:
        """The request's target."""
        self._url += url
        self._count_header(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header; the token is kept apart, so that it is in no log."""
        self._count_header(name + value)
        key = name.decode("latin-1").lower()
        if key == "authorization":
            self._authorization = value
        else:
            self._headers[key] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """All headers are there."""
        if self._headers.get("expect", "").lower() == "100-continue" and self._transport:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, data: bytes) -> None:
        """A part of the body."""
        self._body_bytes += len(data)
        if self._body_bytes > BODY_BYTES_MAX:
            raise statuses.too_large(BODY_BYTES_MAX)
        self._body.append(data)

    def on_message_complete(self) -> None:
        """The request is whole: answer it."""
        if self._transport is None or self._watch is not None:
            return  # a watch never ends, so nothing after it can be answered
        keep_alive = self._parser.should_keep_alive()
        try:
            self._serve()
        except statuses.StatusError as error:
            self._write(handling.failure(error))
        except Exception as error:  # noqa: BLE001 - the outermost edge: answer 500, serve on
            self._write(handling.failure(_internal(error)))
        self._reset()
        if not keep_alive and self._watch is None:
            self._send(None)

    # -------------------------------------------------------------- answering

    def _serve(self) -> None:
        if not self._server.allows(self._authorization):
            raise statuses.unauthorized()
        url = httptools.parse_url(self._url)
        request = requesting.Request(
            method=self._parser.get_method().decode(),
            path=(url.path or b"/").decode("latin-1"),
            query=requesting.parse_query((url.query or b"").decode("latin-1")),
            headers=self._headers,
            body=b"".join(self._body),
        )
        selection = handling.selection_of(request)
        if selection is None:
            self._write(
                self._server.handler.answer(request),
                head=request.method == "HEAD",
                later=request.method not in ("GET", "HEAD") and self._server.events_first(),
            )
        else:
            self._watch = Watch(self._server, self, request, selection)
            self._watch.start()

    def _write(self, answer: handling.Answer, *, head: bool = False, later: bool = False) -> None:
        start = b"HTTP/1.1 %d %b\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n" % (
            answer.status,
            _REASONS.get(answer.status, b"Status"),
            answer.content_type.encode(),
            len(answer.body),
        )
        self._send(start if head else start + answer.body, later=later)

    def _send(self, data: bytes | None, *, later: bool = False) -> None:
        """Send now, or after the watches of this turn; never before what is owed already."""
        if later or self._owed:
            if not self._owed:
                asyncio.get_running_loop().call_soon(self._send_owed)
            self._owed.append(data)
        elif self._transport is not None:
            if data is None:
                self._transport.close()
            else:
                self._transport.write(data)

    def _send_owed(self) -> None:
        owed = list(self._owed)
        self._owed.clear()
        for data in owed:
            self._send(data)

    def _refuse(self, error: statuses.StatusError) -> None:
        self._write(handling.failure(error))
        self._send(None)

    def _count_header(self, data: bytes) -> None:
        self._header_bytes += len(data)
        if self._header_bytes > HEADER_BYTES_MAX:
            raise statuses.StatusError(431, "", "the request's headers are too large")

    def write_head(self, status: int, content_type: str) -> None:
        """Begin a chunked answer."""
        self._send(
            b"HTTP/1.1 %d OK\r\nContent-Type: %b\r\nTransfer-Encoding: chunked\r\n\r\n"
            % (status, content_type.encode())
        )

    def write_chunk(self, data: bytes) -> None:
        """Go on with a chunked answer; a client that does not read is dropped."""
        if self._transport is None:
            return
        if self._transport.get_write_buffer_size() > UNREAD_BYTES_MAX:
            self._transport.abort()
            return
        self._send(b"%x\r\n%b\r\n" % (len(data), data))

    def end_stream(self) -> None:
        """End a chunked answer, and the connection with it."""
        self._send(b"0\r\n\r\n")
        self._send(None)

    def abort(self) -> None:
        """The server stops."""
        if self._transport is not None:
            self._transport.abort()


def _internal(error: Exception) -> statuses.StatusError:
    message = f"Internal error occurred: {type(error).__name__}: {error}"
    return statuses.StatusError(500, "InternalError", message)


def abort_all(connections: Iterable[Connection]) -> None:
    """End every connection at once."""
    for connection in list(connections):
        connection.abort()
