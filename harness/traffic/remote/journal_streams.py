"""A worker's journal on its way to the master: which chunk to send next."""

import os
import pathlib

from harness import regular_files, writing


class ReceivedJournal:
    """A journal that is written byte for byte as its worker has it.

    The file is created with its first chunk. Every method raises StorageError or UnwritableError if
    it cannot be written.
    """

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self._fd: int | None = None
        self.size = 0
        """Number of bytes that the file has."""

    def add(self, offset: int, data: bytes) -> None:
        """Append a chunk, unless it is there already or one before it is missing."""
        if offset != self.size or not data:
            return
        try:
            if self._fd is None:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
                self._fd = os.open(self._path, flags, 0o644)
            rest = memoryview(data)
            while rest:
                written = os.write(self._fd, rest)
                rest, self.size = rest[written:], self.size + written
        except OSError as error:
            raise writing.explain(error, self._path) from error

    def close(self) -> None:
        """Close the file."""
        if self._fd is not None:
            os.close(self._fd)
        self._fd = None


CHUNK_BYTES = 256 * 1024
IN_FLIGHT_MAX = 8 * CHUNK_BYTES
"""Bytes that may be sent without an answer, so that a slow network does not fill the memory."""
RESEND_S = 3.0
"""Seconds without an answer about new bytes after which all of them are sent again."""


class JournalStream:
    """Reads chunks from the journal; the file keeps every byte until the worker ends."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self._sent = 0
        self._moved_ns = 0
        """When the first byte without an answer was sent, or the last answer came."""
        self.received = 0
        """Bytes that the master has written."""

    def next_chunk(self, now_ns: int) -> tuple[int, bytes]:
        """Return offset and content of the next chunk; empty: there is nothing to send now.

        Raises OSError if the journal cannot be read.
        """
        if self._sent > self.received and now_ns - self._moved_ns > RESEND_S * 1e9:
            self._sent = self.received
        offset = self._sent
        room = self.received + IN_FLIGHT_MAX - offset
        with regular_files.opened(self._path) as file:
            file.seek(offset)
            data = file.read(max(min(CHUNK_BYTES, room), 0))
        if offset == self.received:
            self._moved_ns = now_ns
        self._sent += len(data)
        return offset, data

    def note_received(self, size: int, now_ns: int) -> None:
        """Note how many bytes the master has written."""
        if size > self.received:
            self.received, self._moved_ns = size, now_ns
            self._sent = max(self._sent, size)

    @property
    def size(self) -> int:
        """The number of bytes that the journal has now."""
        return self._path.stat().st_size
