"""Connections: requests are read and answered in order, within limits on size and time."""

import asyncio
import collections
import fcntl
import socket
import sys
import termios
from collections.abc import Callable

from harness import listening
from harness.apiserver.endpoints import responses
from harness.apiserver.errors import status_errors
from harness.apiserver.server import http_messages, request_lifecycle, servers, watch_streams

_LINGER_S = 1.0
"""Time between a last response and closing: closing at once could lose the response."""
_RESET_CHECK_S, _RESET_CHECKS_MAX = 0.005, 200
"""Time between two checks whether a connection can be reset, and their number."""


class Connection(asyncio.Protocol):
    """One HTTP/1.1 connection; its requests are answered in order, one at a time."""

    def __init__(self, server: servers.Server) -> None:
        self._server = server
        self._waiting: collections.deque[http_messages.Incoming] = collections.deque()
        self._parser = http_messages.RequestParser(self._waiting.append)
        self._transport: asyncio.Transport | None = None
        self._is_blocked = False
        """True if a request is answered later, so that the next one waits."""
        self._is_full = False
        """True while the transport's buffer is full: the client does not read fast enough."""
        self._on_room: Callable[[], None] | None = None
        """Called once the client has read most of what it was sent."""
        self._is_ending = False
        """True if no more requests are read."""
        self._refusal: status_errors.StatusError | None = None
        """The last response, sent after those of all earlier requests."""
        self._is_refused = False
        """True if the last response was sent while the client may still be sending."""
        self._watch: watch_streams.Watch | None = None
        self._is_kept_alive = True
        """True if the client may send another request after the watch."""
        self.source = ""
        """The client's IP address."""
        self._out: list[bytes] = []
        """Responses to send once their commits are written."""
        self._closes_after_out = False
        self._resets = False
        """True if the connection is reset, not closed, when everything is sent."""
        self._lingering: asyncio.TimerHandle | None = None

    # -------------------------------------------------------------- asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]
        self.source = str((transport.get_extra_info("peername") or ("",))[0])
        self._server.admit(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Release everything: nothing can be sent any more."""
        self._transport = None
        self._is_ending = True
        self._parser.close()
        if self._lingering is not None:
            self._lingering.cancel()
        self._waiting.clear()
        self._refusal = None
        self._server.leave(self)
        if self._watch is not None:
            self._watch.close()

    def data_received(self, data: bytes) -> None:
        """Parse requests and begin them; an invalid one ends the connection."""
        if self._is_ending:
            return
        failure = self._parser.feed(data)
        if failure is not None:
            self._is_ending, self._refusal = True, failure
        self._go_on()

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        if self._closes_after_out and not self._out:
            self._close()
        on_room, self._on_room = self._on_room, None
        if on_room is not None:
            on_room()
        self._go_on()

    @property
    def is_lost(self) -> bool:
        return self._transport is None

    # -------------------------------------------------------------- requests

    def _go_on(self) -> None:
        """Begin waiting requests while possible; read more only when none is left."""
        while self._waiting and not self._must_wait():
            request_lifecycle.RequestLifecycle(self._server, self, self._waiting.popleft()).begin()
        if self._refusal is not None and not (self._waiting or self._must_wait()):
            self._refuse(self._refusal)
        if self._transport is not None and not self._transport.is_closing():
            if self._waiting:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()

    def _refuse(self, error: status_errors.StatusError) -> None:
        """Send an error as the last response; every earlier request is answered."""
        self._is_refused, self._refusal = True, None
        self.write(http_messages.response(responses.failure(error), b"Connection: close\r\n"))
        self.end()

    def _must_wait(self) -> bool:
        return (
            self._is_blocked or self._is_full or self._closes_after_out or self._watch is not None
        )

    def block(self) -> None:
        """Make the next request wait: the current one is answered later."""
        self._is_blocked = True

    def unblock(self) -> None:
        """Begin the next request: the current one is answered."""
        self._is_blocked = False
        if self._is_ending and self._refusal is None:
            self.end()
        else:
            self._go_on()

    def follow(self, watch: watch_streams.Watch, *, keep_alive: bool) -> None:
        """Give the connection to a watch; when the watch ends, close it unless `keep_alive`."""
        self._watch, self._is_kept_alive = watch, keep_alive

    # -------------------------------------------------------------- responses

    def write(self, data: bytes) -> None:
        """Send after the commits of this loop iteration are written, in the order of the calls."""
        if not self._out:
            self._server.turn.show_answer(self.flush)
        self._out.append(data)

    def end(self) -> None:
        """Close the connection when everything is sent."""
        self._closes_after_out = True
        if not self._out:
            self._server.turn.show_answer(self.flush)

    def reset(self) -> None:
        """Reset the connection when everything is sent."""
        self._resets = True
        self.end()

    def flush(self) -> None:
        """Pass the waiting responses to the transport."""
        out, self._out = self._out, []
        if self._transport is None:
            return
        if out:
            self._send(out[0] if len(out) == 1 else b"".join(out))
        if self._closes_after_out:
            self._close()
        elif self._waiting or self._refusal:
            self._go_on()

    # -------------------------------------------------------------- watches

    def write_chunk(self, chunk: bytes) -> None:
        """Continue a chunked response: at once if the commits are written, else after that."""
        if self._out or not self._server.turn.is_settled:
            self.write(chunk)
        elif self._transport is not None:
            self._send(chunk)

    def when_writable(self, call: Callable[[], None]) -> None:
        """Call `call` soon, once the client has read most of what it was sent.

        It is never called if the client disconnects.
        """
        asyncio.get_running_loop().call_soon(self._call_when_writable, call)

    def _call_when_writable(self, call: Callable[[], None]) -> None:
        if self._is_full:
            self._on_room = call
        elif self._transport is not None:
            call()

    def end_stream(self) -> None:
        """End the response of a watch. As in Kubernetes the connection serves the next request."""
        self.write(http_messages.LAST_CHUNK)
        self._watch = None
        if self._is_ending or not self._is_kept_alive:
            self.end()

    # -------------------------------------------------------------- ends

    def finish(self) -> None:
        """End the connection after the current request or watch: the server stops."""
        self._is_ending = True
        if self._watch is not None:
            self._watch.end()
        elif not self._is_blocked:
            self.end()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _close(self) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        if self._resets:
            self._reset_later(_RESET_CHECKS_MAX)
            return
        halves = self._transport.can_write_eof()  # TLS cannot be closed in one direction only
        if self._is_refused or (self._is_ending and halves):
            if halves:
                self._transport.write_eof()
            self._transport.resume_reading()  # the data is ignored
            loop = asyncio.get_running_loop()
            self._lingering = loop.call_later(_LINGER_S, self._transport.close)
        else:
            self._transport.close()

    def _reset_later(self, checks: int) -> None:
        """Reset the connection when the client's kernel has the data, or after a time limit."""
        if self._transport is None:
            return
        peer: socket.socket = self._transport.get_extra_info("socket")
        if checks and (self.unread_bytes or _unsent_bytes(peer)):
            loop = asyncio.get_running_loop()
            loop.call_later(_RESET_CHECK_S, self._reset_later, checks - 1)
        else:
            listening.reset(self._transport)

    @property
    def unread_bytes(self) -> int:
        """Bytes that wait in the transport's buffer."""
        return self._transport.get_write_buffer_size() if self._transport is not None else 0

    def _send(self, data: bytes) -> None:
        """Write to the transport; drop the client of a watch that leaves too much unread."""
        if self._transport is None:
            return
        self._transport.write(data)
        if (
            self._watch is not None
            and self.unread_bytes > self._server.limits.watch_unread_bytes_max
        ):
            self.abort()


def _unsent_bytes(connection: socket.socket) -> int:
    """Return the number of bytes that the other side has not acknowledged; a reset drops them."""
    count = fcntl.ioctl(connection.fileno(), termios.TIOCOUTQ, bytes(4))
    return int.from_bytes(count, sys.byteorder)
