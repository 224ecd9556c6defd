"""The journals of remote workers, as their chunks arrive in the run directory."""

import os
import pathlib

from harness import writing


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
