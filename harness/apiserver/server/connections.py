"""Connections: bytes in, bytes out, in order, with limits on how much and how slowly."""

import asyncio
import collections
from collections.abc import Callable

from harness.apiserver.endpoints import responses
from harness.apiserver.errors import status_errors
from harness.apiserver.server import (
    http_framing,
    http_parsing,
    request_lifecycle,
    send_queue,
    servers,
    watch_streams,
)

_OUT_BYTES_MAX = 1024 * 1024
"""With more than so much to be sent, the next request waits."""
_LINGER_S = 1.0
"""A refused client is listened to so much longer: closing at once could take the answer away from it."""


class Connection(asyncio.Protocol):
    """One connection, kept alive; requests on it are answered in order, one at a time."""

    def __init__(self, server: servers.Server) -> None:
        self._server = server
        self._parser = http_parsing.RequestParser(self._on_request, self._on_continue)
        self._transport: asyncio.Transport | None = None
        self._waiting: collections.deque[http_parsing.Incoming] = collections.deque()
        self._is_blocked = False
        """Whether an exchange is under way that goes on later, so that the next one waits."""
        self._outgoing = send_queue.SendQueue()
        self._on_room: Callable[[], None] | None = None
        """Called when it has caught up."""
        self._is_ending = False
        """Whether nothing more is read."""
        self._owes_continue = False
        """Whether the client waits for leave to send its body."""
        self._refusal: status_errors.StatusError | None = None
        """What is answered when everything before it is answered: the last answer."""
        self._is_refused = False
        """Whether the client may still be sending what nobody wants."""
        self._watch: watch_streams.Watch | None = None
        self._is_kept_alive = True
        """Whether the client may send another request after the watch."""
        self.source = ""
        self._out: list[bytes] = []
        self._out_bytes = 0
        self._closes_after_out = False
        self._lingering: asyncio.TimerHandle | None = None
        self._reading_since_s: float | None = None
        self._progress_s, self._unread_bytes = 0.0, 0

    # -------------------------------------------------------------- asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, unless there are too many."""
        self._transport = transport  # type: ignore[assignment]
        self._outgoing.open(transport)  # type: ignore[arg-type]
        self.source = str((transport.get_extra_info("peername") or ("",))[0])
        refusal = self._server.admit(self)
        if refusal is not None:
            self._refuse(refusal)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """End: whatever was going on has nobody to go to."""
        self._transport = None
        self._is_ending = True
        self._parser.close()
        if self._lingering is not None:
            self._lingering.cancel()
        self._waiting.clear()
        self._outgoing.close()
        self._refusal = None
        self._server.leave(self)
        if self._watch is not None:
            self._watch.close()

    def data_received(self, data: bytes) -> None:
        """Read requests; what is none ends the connection."""
        if self._is_ending:
            return
        failure = self._parser.feed(data)
        if failure is not None:
            self._refuse(failure)
            return
        if not self._parser.is_reading:
            self._reading_since_s = None
        elif self._reading_since_s is None:
            self._reading_since_s = self._server.time_s()
        self._go_on()

    def pause_writing(self) -> None:
        """The client does not read as fast as it is written to."""
        self._outgoing.is_full = True
        self._progress_s, self._unread_bytes = self._server.time_s(), self._outgoing.unread_bytes

    def resume_writing(self) -> None:
        """It has caught up."""
        self._outgoing.is_full = False
        self._outgoing.go_on()
        self._note_unread()
        if self._outgoing.is_full:
            return
        if self._closes_after_out and not self._out:
            self._close()
        on_room, self._on_room = self._on_room, None
        if on_room is not None:
            on_room()
        self._go_on()

    # -------------------------------------------------------------- requests

    def _on_request(self, incoming: http_parsing.Incoming) -> None:
        self._owes_continue = False
        self._waiting.append(incoming)

    def _on_continue(self) -> None:
        self._owes_continue = True

    def _go_on(self) -> None:
        """Begin what waits, as long as nothing is in its way; read on only when nothing waits."""
        while self._waiting and not self._must_wait():
            request_lifecycle.RequestLifecycle(self._server, self, self._waiting.popleft()).begin()
        if (self._refusal or self._owes_continue) and not (self._waiting or self._must_wait()):
            self._write_in_turn()
        if self._transport is not None and not self._transport.is_closing():
            if self._waiting:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()

    def _write_in_turn(self) -> None:
        """Write what is no answer to a whole request: every request before it is answered."""
        if self._refusal is None:
            self._owes_continue = False
            self.write(http_framing.CONTINUE)
            return
        self._is_refused = True
        refusal, self._refusal = self._refusal, None
        self.write(request_lifecycle.encode(responses.failure(refusal), b"Connection: close\r\n"))
        self.end()

    def _must_wait(self) -> bool:
        return (
            self._is_blocked
            or self._outgoing.is_full
            or self._closes_after_out
            or self._watch is not None
            or self._out_bytes > _OUT_BYTES_MAX
        )

    def block(self) -> None:
        """An exchange goes on later."""
        self._is_blocked = True

    def unblock(self) -> None:
        """It is at its end."""
        self._is_blocked = False
        if self._is_ending and self._refusal is None:
            self.end()
        else:
            self._go_on()

    def follow(self, watch: watch_streams.Watch, *, keep_alive: bool) -> None:
        """Give the connection to a watch until that ends; then close it unless the client keeps it alive."""
        self._watch, self._is_kept_alive = watch, keep_alive

    # -------------------------------------------------------------- answers

    def write(self, data: bytes) -> None:
        """Send when the turn is settled; never before what was to be sent already."""
        if not self._out:
            self._server.turn.show_answer(self.flush)
        self._out.append(data)
        self._out_bytes += len(data)

    def end(self) -> None:
        """Close when everything is sent."""
        self._closes_after_out = True
        if not self._out:
            self._server.turn.show_answer(self.flush)

    def flush(self) -> None:
        """Hand over to the operating system what is to be sent."""
        out, self._out, self._out_bytes = self._out, [], 0
        if self._transport is None:
            return
        if out:
            self._outgoing.send(out)
            self._note_unread()
        if self._closes_after_out and not self._outgoing.is_waiting:
            self._close()
        elif self._waiting or self._refusal or self._owes_continue:
            self._go_on()

    # -------------------------------------------------------------- watches

    def write_head(self, status: int, content_type: str) -> None:
        """Begin a chunked answer."""
        self.write(http_framing.chunked_head(status, content_type))

    def write_chunk(self, chunk: bytes) -> None:
        """Go on with a chunked answer: at once when the turn is settled."""
        if self._out or not self._server.turn.is_settled:
            self.write(chunk)
        elif self._transport is not None:
            self._outgoing.send([chunk])
            self._note_unread()

    def when_writable(self, call: Callable[[], None]) -> None:
        """Call this soon, when the client has read most of what it was sent; never when it is gone."""
        asyncio.get_running_loop().call_soon(self._call_when_writable, call)

    def _call_when_writable(self, call: Callable[[], None]) -> None:
        if self._outgoing.is_full:
            self._on_room = call
        elif self._transport is not None:
            call()

    def end_stream(self) -> None:
        """End the response of a watch. As in Kubernetes the connection serves the next request."""
        self.write(http_framing.LAST_CHUNK)
        self._watch = None
        if self._is_ending or not self._is_kept_alive:
            self.end()

    # -------------------------------------------------------------- ends

    def check(self, now_s: float) -> None:
        """Time has passed: drop who is too slow. A watcher may be, within the limits on what is unread."""
        limits = self._server.limits
        since_s = self._reading_since_s
        if since_s is not None and now_s - since_s > limits.request_timeout_s:
            self._reading_since_s = None
            self._refuse(
                status_errors.StatusError(408, "Timeout", "the request did not come in time")
            )
        elif self._outgoing.is_full and self._watch is None and self._has_stalled(now_s):
            self.abort()

    def _has_stalled(self, now_s: float) -> bool:
        unread = self._outgoing.unread_bytes
        if unread < self._unread_bytes:
            self._progress_s, self._unread_bytes = now_s, unread
        return now_s - self._progress_s > self._server.limits.stall_timeout_s

    def finish(self) -> None:
        """The server stops: what is under way is answered, then the connection ends."""
        self._is_ending = True
        if self._watch is not None:
            self._watch.end()
        elif not self._is_blocked:
            self.end()

    def abort(self) -> None:
        """End now."""
        if self._transport is not None:
            self._transport.abort()

    def _refuse(self, error: status_errors.StatusError) -> None:
        """Read no more requests; answer once more, unless a watch or a last answer ends the connection first."""
        self._is_ending, self._refusal = True, error
        self._go_on()

    def _close(self) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        halves = self._transport.can_write_eof()  # TLS cannot be closed in one direction only
        if self._is_refused or (self._is_ending and halves):
            if halves:
                self._transport.write_eof()
            self._transport.resume_reading()  # and nobody listens
            loop = asyncio.get_running_loop()
            self._lingering = loop.call_later(_LINGER_S, self._transport.close)
        else:
            self._transport.close()

    def _note_unread(self) -> None:
        self._server.unread.note(self, self._outgoing.unread_bytes, watches=self._watch is not None)
