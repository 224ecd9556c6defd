"""Zstandard frames: appended data is compressed so that a kill loses none of it.

Every piece of data ends a block, which can be decompressed although its frame has no end yet. The
memory for reading is bounded, whatever a file contains.
"""

import functools
import io
from typing import IO, Any

SUFFIX = ".zst"
"""How the names of compressed files end."""
MAGIC = b"\x28\xb5\x2f\xfd"
"""How a frame begins."""
LEVEL = 3
"""Zstandard's default; level 5 takes a tenth less space and twice the time."""
FRAME_MAX = 16 * 2**20
"""Uncompressed bytes after which the next frame begins: as much can be lost if a file is damaged,
because each frame can be decompressed without the others."""
WINDOW_MAX = 8 * 2**20
"""Largest window of a frame, in bytes: RFC 8878 recommends that every decoder supports it."""
UNPACKED_MAX = 128 * 2**20
"""Bytes to which a file may grow, however small it is."""
UNPACKED_RATIO_MAX = 300
"""How many times its size a file may grow to; journals grow to 10 to 100 times theirs."""


class FrameError(OSError):
    """A file contains something else than whole zstd frames, or grows more than journals do."""


class Compressor:
    """Compresses the data that is appended to one file, in frames with checksums.

    Every method returns bytes that must be appended to the file before those of the next call.
    """

    def __init__(self, *, level: int = LEVEL) -> None:
        from harness.compression import zstd  # 10 ms: only for those who compress

        parameters = zstd.CompressionParameter
        options: dict[int, int] = {parameters.compression_level: level, parameters.checksum_flag: 1}
        self._compressor = zstd.ZstdCompressor(options=options)
        self._size = 0
        """Uncompressed bytes in this frame; 0: none was begun."""

    def append(self, data: bytes) -> bytes:
        """Return the data as a block that can be decompressed whole; nothing for none."""
        if not data:
            return b""
        before = self.end() if self._size >= FRAME_MAX else b""
        self._size += len(data)
        return before + self._compressor.compress(data, self._compressor.FLUSH_BLOCK)

    def append_frame(self, data: bytes) -> bytes:
        return self.end() + self.append(data) + self.end()

    def end(self) -> bytes:
        """Return the end of the frame; empty if none was begun."""
        if not self._size:
            return b""
        self._size = 0
        return self._compressor.flush()


class _Decompressing(io.RawIOBase):
    def __init__(self, file: IO[bytes]) -> None:
        from harness.compression import zstd

        self._file, self._error = file, zstd.ZstdError
        self._new_frame = functools.partial(
            zstd.ZstdDecompressor,
            options={zstd.DecompressionParameter.window_log_max: WINDOW_MAX.bit_length() - 1},
        )
        self._frame: Any = None
        """The frame that is being read; None: between two frames."""
        self._rest = b""
        """Compressed bytes behind the end of a frame."""
        self._packed, self._unpacked = 0, 0
        """Bytes so far."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Raise FrameError at damage, and EOFError where a frame is cut short."""
        content = b""
        while not content:
            piece = b""
            if self._frame is None or self._frame.needs_input:
                piece, self._rest = self._rest or self._next(), b""
                if not piece and self._frame is not None:
                    raise EOFError("the last zstd frame has no end")
                if not piece:
                    return 0
            content = self._decompress(piece, len(buffer))
        self._unpacked += len(content)
        if self._unpacked > max(UNPACKED_MAX, UNPACKED_RATIO_MAX * self._packed):
            raise FrameError(
                f"it grows to more than {UNPACKED_MAX >> 20} MiB and {UNPACKED_RATIO_MAX} times "
                "its size, and is not read further"
            )
        buffer[: len(content)] = content
        return len(content)

    def _next(self) -> bytes:
        piece = self._file.read(io.DEFAULT_BUFFER_SIZE)
        self._packed += len(piece)
        return piece

    def _decompress(self, piece: bytes, most: int) -> bytes:
        self._frame = self._frame or self._new_frame()
        try:
            content: bytes = self._frame.decompress(piece, most)
        except self._error as error:
            raise FrameError(f"expected zstd frames ({error})") from error
        if self._frame.eof:
            self._rest, self._frame = self._frame.unused_data, None
        return content

    def close(self) -> None:
        self._file.close()
        super().close()


def decompressing(file: IO[bytes], *, buffer: int = io.DEFAULT_BUFFER_SIZE) -> io.BufferedReader:
    """Return the content of a file of frames, to be read once; closing it closes the file.

    `buffer`: decompressed bytes that are read at once. Reading raises FrameError if the file
    contains something else, EOFError after the last whole piece of data if a frame has no end, and
    OSError.
    """
    return io.BufferedReader(_Decompressing(file), buffer)


def last_frame(end: bytes, *, limit: int) -> bytes:
    """Return the content of the last frame, given the end of a file.

    Empty if it has no end, begins before the given part of the file, or has more than `limit`
    bytes.
    """
    begin = len(end)
    while (begin := end.rfind(MAGIC, 0, begin)) >= 0:
        try:
            content = decompressing(io.BytesIO(end[begin:])).read(limit + 1)
            return content if len(content) <= limit else b""
        except (FrameError, EOFError):
            continue  # The magic number was among the bytes of a block.
    return b""
