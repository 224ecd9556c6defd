"""A data directory: its lock, its generations, and the files in it."""

import dataclasses
import fcntl
import os
import pathlib

from harness import errors, writing

_LOG, _SNAPSHOT, _LOCK, IDENTITY = "log-", "snapshot-", "lock", "identity.json"
_OWN_PREFIXES = (_LOG, _SNAPSHOT, f".{IDENTITY}-")
"""What a server that was killed before it had an identity may have left."""
UNFINISHED = ".unfinished"
"""Ends the name of a file that is being written and means nothing yet."""


@dataclasses.dataclass(frozen=True, slots=True)
class DataDirectory:
    """A directory that belongs to this process until it ends."""

    path: pathlib.Path
    lock: int
    """The descriptor that holds the lock; the kernel lets it go with the process."""

    def log(self, version: int) -> pathlib.Path:
        """The log of the commits after a version."""
        return self.path / f"{_LOG}{version:020d}"

    def snapshot(self, version: int) -> pathlib.Path:
        """The objects at a version."""
        return self.path / f"{_SNAPSHOT}{version:020d}"

    def logs(self) -> list[int]:
        """The versions at which the logs begin, oldest first."""
        return self._versions(_LOG)

    def snapshots(self) -> list[int]:
        """The versions of the snapshots, oldest first."""
        return self._versions(_SNAPSHOT)

    def remove_before(self, version: int) -> None:
        """Forget the generations before the one that begins at a version."""
        for old in self.logs():
            if old < version:
                self.log(old).unlink()
        for old in self.snapshots():
            if old < version:
                self.snapshot(old).unlink()

    def remove_unfinished(self) -> None:
        """Clear away what an earlier process did not finish."""
        for path in self.path.glob(f"*{UNFINISHED}"):
            path.unlink()

    def sync(self) -> None:
        """Have the names of the files survive a loss of power."""
        descriptor = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def close(self) -> None:
        """Let others have it."""
        os.close(self.lock)

    def _versions(self, prefix: str) -> list[int]:
        texts = [path.name.removeprefix(prefix) for path in self.path.glob(f"{prefix}*")]
        return sorted(int(text) for text in texts if text.isdecimal())


def claim(path: pathlib.Path) -> DataDirectory:
    """Make the directory if needed, and lock it; DataDirectoryError when another process has it, or it belongs to something else."""
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
    """Reject a folder with files of others in it, and write nothing there."""
    names = {item.name for item in path.iterdir()}
    foreign = sorted(
        name for name in names - {_LOCK, IDENTITY} if not name.startswith(_OWN_PREFIXES)
    )
    if foreign and IDENTITY not in names:
        raise errors.DataDirectoryError(
            f"expected an empty folder or one of an earlier API server at {path}, but {foreign[0]} is in it and no "
            f"{IDENTITY}: name another --data-dir"
        )
