"""The commit log: commits are buffered, then written before they are acknowledged."""

import enum
import os
import pathlib

from harness.apiserver.persistence import checksummed_lines, data_directories
from harness.apiserver.storage import watch_cache


class Sync(enum.StrEnum):
    """When the log is synchronised to the disk; the package docstring has the guarantees."""

    ALWAYS = "always"
    INTERVAL = "interval"
    NEVER = "never"


class Log:
    """The newest log of a data directory."""

    def __init__(
        self,
        path: pathlib.Path,
        *,
        sync: Sync,
        encoder: checksummed_lines.LineEncoder,
        version: int,
    ) -> None:
        self._path = path
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._sync = sync
        self._encoder = encoder
        self._lines: list[bytes] = []
        self._is_synced = True
        self.version = version
        """The resourceVersion of the newest commit."""
        self.size_bytes = os.fstat(self._descriptor).st_size

    def append(self, commit: watch_cache.Commit) -> None:
        """Buffer a commit."""
        self.version = commit.object.resource_version
        payload = checksummed_lines.write(commit.resource, commit.type, commit.object)
        self._lines.append(self._encoder.line(payload))

    def settle(self) -> None:
        """Write the buffered commits; with Sync.ALWAYS also synchronise. Raises OSError."""
        if not self._lines:
            return
        data = b"".join(self._lines)
        self._lines.clear()
        write_all(self._descriptor, data, path=self._path)
        self.size_bytes += len(data)
        self._is_synced = False
        if self._sync is Sync.ALWAYS:
            self.sync()

    def sync(self) -> None:
        """Synchronise to the disk what `settle` has written. Thread-safe. Raises OSError."""
        if not self._is_synced:
            # Set first: what is written during the call is synchronised by the next one.
            self._is_synced = True
            try:
                os.fdatasync(self._descriptor)
            except OSError as error:
                error.filename = str(self._path)
                raise

    def begin(self) -> None:
        """Write the first record of a new log."""
        self._lines.append(self._encoder.line(checksummed_lines.begin(self.version)))
        self.settle()

    def close(self) -> None:
        """Write, synchronise (except with Sync.NEVER) and close."""
        self.settle()
        if self._sync is not Sync.NEVER:
            self.sync()
        os.close(self._descriptor)


def create(directory: data_directories.DataDirectory, version: int, *, sync: Sync) -> Log:
    """Create a log of the commits after a version; it is ignored until it is published."""
    path = directory.log(version).with_suffix(data_directories.UNFINISHED)
    log = Log(path, sync=sync, encoder=checksummed_lines.LineEncoder(), version=version)
    log.begin()
    return log


def publish(directory: data_directories.DataDirectory, version: int) -> None:
    """Rename a created log to its final name.

    The new name survives a power failure only once the directory is synchronised.
    """
    path = directory.log(version)
    path.with_suffix(data_directories.UNFINISHED).rename(path)


def write_all(descriptor: int, data: bytes, *, path: pathlib.Path) -> None:
    """Write all data. Raises OSError with the file's name."""
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except OSError as error:
        error.filename = str(path)
        raise
