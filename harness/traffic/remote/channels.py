"""A worker's channel to the master: messages of ours over a socket of Locust's kind."""

import socket
import uuid
from collections.abc import Callable
from typing import Any

import gevent
import gevent.event
import msgspec
from locust.exception import RPCError
from locust.rpc import Message, zmqrpc

from harness import clocks, errors
from harness.traffic.remote import clock_offsets, messages

LINGER_MS = 500
"""Milliseconds in which the last messages can leave when the channel is closed."""
_ANSWER_S = 1.0
"""Seconds to wait for an answer before a question is asked again."""
_RETRY_S = 0.5


class Channel:
    """Sends messages to the master, and hands out what it answers."""

    def __init__(self, host: str, port: int, *, on_message: Callable[[Any], None]) -> None:
        """`on_message` is called with each message of the master; it must not wait."""
        self._node = f"{socket.gethostname()}-{uuid.uuid4().hex}-channel"
        self._client = zmqrpc.Client(host, port, self._node)
        self._on_message = on_message
        self._tocks: dict[int, gevent.event.AsyncResult[clock_offsets.RoundTrip]] = {}
        self.heard_ns = clocks.monotonic_ns()
        """Time of the master's last message."""
        self._reader = gevent.spawn(self._read)

    def send(self, message: msgspec.Struct) -> None:
        """Send a message, which may be lost."""
        data = messages.encode(message)
        self._client.send(Message(messages.kind(message), data, self._node))

    def measure_clock(self) -> clock_offsets.RoundTrip:
        """Return the best of several round trips. Raises ProcessError if none comes back."""
        trips = [trip for _ in range(clock_offsets.ROUND_TRIPS) if (trip := self._round_trip())]
        if not trips:
            raise errors.ProcessError("expected the master to tell its time, got no answer")
        return clock_offsets.best(trips)

    def close(self) -> None:
        """Close the channel after the last messages."""
        self._reader.kill()
        self._client.close(linger=LINGER_MS)

    def _round_trip(self) -> clock_offsets.RoundTrip | None:
        sent_ns = clocks.monotonic_ns()
        answer = self._tocks[sent_ns] = gevent.event.AsyncResult()
        self.send(messages.Tick(sent_ns=sent_ns))
        try:
            return answer.get(timeout=_ANSWER_S)
        except gevent.Timeout:
            return None
        finally:
            del self._tocks[sent_ns]

    def _read(self) -> None:
        kinds = {messages.kind(kind): kind for kind in messages.TO_WORKER}
        while True:
            try:
                received = self._client.recv()
            except RPCError:
                gevent.sleep(_RETRY_S)
                continue
            now_ns = clocks.monotonic_ns()
            if received.type not in kinds:
                continue
            try:
                message = messages.decode(received.data, kinds[received.type])
            except errors.ProcessError:
                continue
            self.heard_ns = now_ns
            if isinstance(message, messages.Tock):
                self._note_tock(message, now_ns)
            else:
                self._on_message(message)

    def _note_tock(self, tock: messages.Tock, now_ns: int) -> None:
        answer = self._tocks.get(tock.sent_ns)
        if answer is not None:
            trip = clock_offsets.RoundTrip(
                sent_ns=tock.sent_ns,
                received_ns=tock.received_ns,
                answered_ns=tock.answered_ns,
                back_ns=now_ns,
            )
            answer.set(trip)
