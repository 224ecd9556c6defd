"""A long list on its way: made and sent bit by bit, as fast as the client reads, so that nobody else waits for it."""

from collections.abc import Callable, Iterator

from harness.apiserver.server import http_framing, watch_streams

_STEP_BYTES = 32 * 1024
_PIECE_BYTES_MIN = 256
"""What a piece counts at least: one without bytes was work, too."""


class Sending:
    """One chunked answer."""

    def __init__(
        self,
        stream: watch_streams.ResponseStream,
        pieces: Iterator[bytes],
        *,
        on_end: Callable[[], None],
    ) -> None:
        """`on_end` is called when all is sent; never when the client is gone before."""
        self._stream, self._pieces, self._on_end = stream, pieces, on_end

    def go_on(self) -> None:
        """Send some pieces, and go on when the client has read most of them."""
        try:
            step = list(_some(self._pieces))
        except Exception:
            self._stream.abort()  # the head said 200: the client is not to take it for a whole list
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
