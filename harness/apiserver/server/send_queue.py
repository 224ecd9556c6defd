"""Bytes to send on one connection that do not fit into its transport's buffer yet.

Watches share the bytes of their events, but a transport copies what is written to it. Therefore
each transport gets no more than its buffer takes; the rest waits here as shared references.
"""

import asyncio
import collections
import fcntl
import socket
import struct
import sys
import termios

_STEP_BYTES = 64 * 1024
_RESET_CHECK_S, _RESET_CHECKS_MAX = 0.005, 200
"""Time between two checks whether a connection can be reset, and their number."""
_NO_LINGER = struct.pack("ii", 1, 0)
"""The SO_LINGER with which the kernel resets a connection (RST) instead of closing it (FIN)."""


class SendQueue:
    """The bytes that wait for the buffer of one transport."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._waiting: collections.deque[bytes] = collections.deque()
        self._waiting_bytes = 0
        self.is_full = False
        """True if the transport's buffer is full; pause_writing and resume_writing set it."""

    def open(self, transport: asyncio.Transport) -> None:
        """Write to this transport from now on."""
        self._transport = transport

    def close(self) -> None:
        """Drop everything: the transport is closed."""
        self._transport, self._waiting_bytes = None, 0
        self._waiting.clear()

    @property
    def unread_bytes(self) -> int:
        """Bytes that wait here and in the transport's buffer."""
        if self._transport is None:
            return 0
        return self._transport.get_write_buffer_size() + self._waiting_bytes

    @property
    def is_waiting(self) -> bool:
        """True if bytes wait here."""
        return bool(self._waiting)

    def send(self, out: list[bytes]) -> None:
        """Write to the transport, or keep the bytes until its buffer has room."""
        if self._transport is None:
            return
        if self.is_full or self._waiting:
            self._waiting.extend(out)
            self._waiting_bytes += sum(map(len, out))
        else:
            self._transport.write(out[0] if len(out) == 1 else b"".join(out))

    def go_on(self) -> None:
        """Write the bytes that wait, until the transport's buffer is full again."""
        while self._waiting and not self.is_full and self._transport is not None:
            part, size = [], 0
            while self._waiting and size < _STEP_BYTES:
                part.append(self._waiting.popleft())
                size += len(part[-1])
            self._waiting_bytes -= size
            self._transport.write(b"".join(part))

    def reset(self) -> None:
        """Reset the connection when the client's kernel has the data, or after a time limit."""
        self._reset_later(_RESET_CHECKS_MAX)

    def _reset_later(self, checks: int) -> None:
        if self._transport is None:
            return
        peer: socket.socket = self._transport.get_extra_info("socket")
        if checks and (self._transport.get_write_buffer_size() or _unsent_bytes(peer)):
            loop = asyncio.get_running_loop()
            loop.call_later(_RESET_CHECK_S, self._reset_later, checks - 1)
            return
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        self._transport.abort()


def _unsent_bytes(connection: socket.socket) -> int:
    """Return the number of bytes that the other side has not acknowledged; a reset drops them."""
    count = fcntl.ioctl(connection.fileno(), termios.TIOCOUTQ, bytes(4))
    return int.from_bytes(count, sys.byteorder)
