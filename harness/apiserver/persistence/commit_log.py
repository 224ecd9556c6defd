"""Writing the log: commits are gathered, and given to the operating system before anybody is told of them."""

import enum
import os
import pathlib

from harness.apiserver.persistence import checksummed_lines, data_directories, record_payloads
from harness.apiserver.storage import watch_cache


class Sync(enum.StrEnum):
    """When the log is synchronised to the disk; what each promises is in the package's docstring."""

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
        """That of the newest commit."""
        self.size_bytes = os.fstat(self._descriptor).st_size

    def append(self, commit: watch_cache.Commit) -> None:
        """Gather a commit."""
        self.version = commit.object.resource_version
        payload = record_payloads.write(commit.resource, commit.type, commit.object)
        self._lines.append(self._encoder.line(payload))

    def settle(self) -> None:
        """Give what was gathered to the operating system, and to the disk if so wished; OSError when it cannot be."""
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
        """Wait until the disk has what was settled; any thread may do so."""
        if not self._is_synced:
            self._is_synced = (
                True  # before, so that what is settled meanwhile is synchronised next time
            )
            try:
                os.fdatasync(self._descriptor)
            except OSError as error:
                error.filename = str(self._path)
                raise

    def begin(self) -> None:
        """Write the first record of a new log."""
        self._lines.append(self._encoder.line(record_payloads.begin(self.version)))
        self.settle()

    def close(self) -> None:
        """Settle and end; a clean end loses nothing, not even when the power fails afterwards."""
        self.settle()
        if self._sync is not Sync.NEVER:
            self.sync()
        os.close(self._descriptor)


def create(directory: data_directories.DataDirectory, version: int, *, sync: Sync) -> Log:
    """A new log after a version, which counts once it is published."""
    path = directory.log(version).with_suffix(data_directories.UNFINISHED)
    log = Log(path, sync=sync, encoder=checksummed_lines.LineEncoder(), version=version)
    log.begin()
    return log


def publish(directory: data_directories.DataDirectory, version: int) -> None:
    """Have a log that was created count; after a loss of power only when the directory was synchronised since."""
    path = directory.log(version)
    path.with_suffix(data_directories.UNFINISHED).rename(path)


def write_all(descriptor: int, data: bytes, *, path: pathlib.Path) -> None:
    """Write all of it; OSError, which names the file, when that cannot be."""
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except OSError as error:
        error.filename = str(path)
        raise
