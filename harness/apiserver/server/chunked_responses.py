"""Long lists, encoded and sent in chunks as fast as the client reads, between other requests."""

from collections.abc import Callable, Iterator

from harness.apiserver.server import http_framing, watch_streams

_STEP_BYTES = 32 * 1024
"""Approximate size of a chunk."""
_PIECE_BYTES_MIN = 256
"""Least size that a piece counts for: an empty one takes time to encode, too."""


class Sending:
    """One chunked response."""

    def __init__(
        self,
        stream: watch_streams.ResponseStream,
        pieces: Iterator[bytes],
        *,
        on_end: Callable[[], None],
    ) -> None:
        """`on_end` is called when all is sent, never if the client disconnects before."""
        self._stream, self._pieces, self._on_end = stream, pieces, on_end

    def go_on(self) -> None:
        """Send a chunk, and the next one when the client has read most of it."""
        try:
            step = list(_some(self._pieces))
        except Exception:
            self._stream.abort()  # after 200, only this tells the client that the list is not whole
            raise
        if step:
            if data := b"".join(step):
                self._stream.write_chunk(http_framing.chunk(data))
            self._stream.when_writable(self.go_on)
        else:
            self._stream.write_chunk(http_framing.LAST_CHUNK)
            self._on_end()


def _some(pieces: Iterator[bytes]) -> Iterator[bytes]:
    size = 0
    for piece in pieces:
        yield piece
        size += max(len(piece), _PIECE_BYTES_MIN)
        if size > _STEP_BYTES:
            return
