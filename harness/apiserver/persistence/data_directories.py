"""Data directories: the lock, and the names of the files in them."""

import dataclasses
import fcntl
import os
import pathlib

from harness import errors, writing

_LOG, _SNAPSHOT, _LOCK, IDENTITY = "log-", "snapshot-", "lock", "identity.json"
_OWN_PREFIXES = (_LOG, _SNAPSHOT, f".{IDENTITY}-")
"""Names that a server leaves behind if it is killed before it has written its identity."""
UNFINISHED = ".unfinished"
"""Suffix of a file that is still being written; recovery removes such files."""


@dataclasses.dataclass(frozen=True, slots=True)
class DataDirectory:
    """A data directory that this process has locked."""

    path: pathlib.Path
    lock: int
    """The descriptor that holds the lock; the kernel releases it when the process ends."""

    def log(self, version: int) -> pathlib.Path:
        """Return the path of the log of the commits after a version."""
        return self.path / f"{_LOG}{version:020d}"

    def snapshot(self, version: int) -> pathlib.Path:
        return self.path / f"{_SNAPSHOT}{version:020d}"

    def logs(self) -> list[int]:
        """Return the versions at which the logs begin, oldest first."""
        return self._versions(_LOG)

    def snapshots(self) -> list[int]:
        """Return the versions of the snapshots, oldest first."""
        return self._versions(_SNAPSHOT)

    def remove_before(self, version: int) -> None:
        """Delete the generations before the one that begins at a version."""
        for old in self.logs():
            if old < version:
                self.log(old).unlink()
        for old in self.snapshots():
            if old < version:
                self.snapshot(old).unlink()

    def remove_unfinished(self) -> None:
        """Delete the unfinished files of an earlier process."""
        for path in self.path.glob(f"*{UNFINISHED}"):
            path.unlink()

    def sync(self) -> None:
        """Synchronise the directory, so that new file names survive a power failure."""
        descriptor = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def close(self) -> None:
        """Release the lock."""
        os.close(self.lock)

    def _versions(self, prefix: str) -> list[int]:
        texts = [path.name.removeprefix(prefix) for path in self.path.glob(f"{prefix}*")]
        return sorted(int(text) for text in texts if text.isdecimal())


def claim(path: pathlib.Path) -> DataDirectory:
    """Create the directory if needed, and lock it.

    Raises DataDirectoryError if another process has locked it, if it has files of something else,
    or if it cannot be opened; StorageError or UnwritableError if the lock cannot be written.
    """
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        _require_ours(path)
        lock = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        if writing.is_of_writing(error):
            raise writing.explain(error, path) from error
        raise errors.DataDirectoryError(
            f"expected a directory that can be written at {path}, but: {error.strerror}"
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.read(lock, 32).decode(errors="replace").strip() or "unknown"
        os.close(lock)
        raise errors.DataDirectoryError(
            f"expected {path} to be used by no other server, but the process {holder} has it: "
            "stop that one, or give another --data-dir"
        ) from error
    os.ftruncate(lock, 0)
    os.pwrite(lock, b"%d\n" % os.getpid(), 0)
    return DataDirectory(path, lock)


def _require_ours(path: pathlib.Path) -> None:
    """Raise DataDirectoryError for a folder with other files in it, before anything is written."""
    names = {item.name for item in path.iterdir()}
    foreign = sorted(
        name for name in names - {_LOCK, IDENTITY} if not name.startswith(_OWN_PREFIXES)
    )
    if foreign and IDENTITY not in names:
        raise errors.DataDirectoryError(
            f"expected an empty folder or one of an earlier API server at {path}, but {foreign[0]} is in it and no "
            f"{IDENTITY}: name another --data-dir"
        )
