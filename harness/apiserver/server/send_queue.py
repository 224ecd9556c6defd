"""What a connection has to send and its transport has no room for.

Watches share the bytes of their events, but a transport copies what it is given. So each transport gets no more than it has room for;
what waits behind it is kept as references to the shared bytes.
"""

import asyncio
import collections

_STEP_BYTES = 64 * 1024


class SendQueue:
    """The bytes that wait for one transport."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._waiting: collections.deque[bytes] = collections.deque()
        self._waiting_bytes = 0
        self.is_full = False
        """Whether the transport wants no more; set by its pause_writing and resume_writing."""

    def open(self, transport: asyncio.Transport) -> None:
        """Begin to send."""
        self._transport = transport

    def close(self) -> None:
        """Forget everything: the transport is gone."""
        self._transport, self._waiting_bytes = None, 0
        self._waiting.clear()

    @property
    def unread_bytes(self) -> int:
        """How much the client has not taken yet."""
        if self._transport is None:
            return 0
        return self._transport.get_write_buffer_size() + self._waiting_bytes

    @property
    def is_waiting(self) -> bool:
        """Whether the transport was not given everything yet."""
        return bool(self._waiting)

    def send(self, out: list[bytes]) -> None:
        """Hand over to the transport, or keep until it has room."""
        if self._transport is None:
            return
        if self.is_full or self._waiting:
            self._waiting.extend(out)
            self._waiting_bytes += sum(map(len, out))
        else:
            self._transport.write(out[0] if len(out) == 1 else b"".join(out))

    def go_on(self) -> None:
        """Hand over what was kept, until the transport is full again."""
        while self._waiting and not self.is_full and self._transport is not None:
            part, size = [], 0
            while self._waiting and size < _STEP_BYTES:
                part.append(self._waiting.popleft())
                size += len(part[-1])
            self._waiting_bytes -= size
            self._transport.write(b"".join(part))
