"""Connections: requests are read, answered in order, each in one step.

The answer to a write and the events it causes are two separate things: which a client sees first is not promised, exactly as in
Kubernetes, and here a coin decides, so that both orders happen often (one of the upstream races needs the event first).
"""

import asyncio
import collections
from collections.abc import Iterable

import httptools

from harness.apiserver import framing, handling, requesting, serving, statuses, streaming

BODY_BYTES_MAX = 3 * 1024 * 1024
HEADER_BYTES_MAX = 64 * 1024
UNREAD_BYTES_MAX = 32 * 1024 * 1024
"""A watcher that leaves so much unread is dropped; it resumes, or is told 410."""


class Connection(asyncio.Protocol):
    """One connection, kept alive; requests on it are answered in order."""

    def __init__(self, server: serving.Server) -> None:
        self._server = server
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._watch: streaming.Watch | None = None
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
            self._transport.write(framing.CONTINUE)

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
            self._watch = streaming.Watch(self._server, self, request, selection)
            self._watch.start()

    def _write(self, answer: handling.Answer, *, head: bool = False, later: bool = False) -> None:
        start = framing.head(answer.status, answer.content_type, len(answer.body))
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
        self._send(framing.chunked_head(status, content_type))

    def write_chunk(self, data: bytes) -> None:
        """Go on with a chunked answer; a client that does not read is dropped."""
        if self._transport is None:
            return
        if self._transport.get_write_buffer_size() > UNREAD_BYTES_MAX:
            self._transport.abort()
            return
        self._send(framing.chunk(data))

    def end_stream(self) -> None:
        """End a chunked answer, and the connection with it."""
        self._send(framing.LAST_CHUNK)
        self._send(None)

    def abort(self) -> None:
        """The server stops."""
        if self._transport is not None:
            self._transport.abort()


def _internal(error: Exception) -> statuses.StatusError:
    message = f"Internal error occurred: {type(error).__name__}: {error}"
    return statuses.StatusError(500, "InternalError", message)


def abort_all(connections: Iterable[serving.Abortable]) -> None:
    """End every connection at once."""
    for connection in list(connections):
        connection.abort()
