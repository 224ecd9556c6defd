"""Writing files: messages that name the file, atomic replacement, and files for one user only."""

import contextlib
import errno
import os
import pathlib
import secrets
import tempfile
from collections.abc import Iterator

from harness import errors

_BROKEN = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""The disk cannot take the data; any other error is a problem of the path that was given."""
_FREE = "free some space, or name a folder on another disk"
_CHOOSE = "name a place that can be written"


def is_of_writing(error: OSError) -> bool:
    """Return whether the error can only come from writing, not from opening or reading."""
    return error.errno in _BROKEN or error.errno == errno.EROFS


def explain(error: OSError, path: str | os.PathLike[str] | None = None) -> errors.HarnessError:
    """Return the StorageError or UnwritableError to raise for an OSError while writing.

    Pass `path` if the error may not name the file itself.
    """
    where = error.filename if path is None else path
    what = "cannot write" if where is None else f"cannot write {os.fspath(where)}"
    why = (error.strerror or str(error)).lower()
    if error.errno in _BROKEN:
        return errors.StorageError(f"{what}: {why}; {_FREE}")
    return errors.UnwritableError(f"{what}: {why}; {_CHOOSE}")


@contextlib.contextmanager
def explained(path: str | os.PathLike[str]) -> Iterator[None]:
    """Raise StorageError or UnwritableError, with the path, for an OSError in the block."""
    try:
        yield
    except OSError as error:
        raise explain(error, path) from error


PRIVATE = 0o600
"""The mode of a file for this user only."""
# Paths are texts here: kubelets write several small files for each pod.


def replace(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file whole or not at all.

    A device or a pipe, such as /dev/stdout, is written to and not replaced. Raises StorageError
    or UnwritableError if the file cannot be written.
    """
    with explained(path):
        target = os.path.realpath(path) if os.path.islink(path) else os.fspath(path)  # noqa: PTH114
        if os.path.exists(target) and not os.path.isfile(target):  # noqa: PTH110, PTH113
            pathlib.Path(target).write_bytes(content)
        else:
            write_whole(target, content)


def append(path: str | os.PathLike[str], content: bytes) -> None:
    """Append to a file, which is made if it is not there. Raises as `replace` does."""
    with explained(path):
        _put(path, content, os.O_APPEND)


def write_whole(path: str | os.PathLike[str], content: bytes, *, mode: int = 0o666) -> None:
    """Write a regular file whole or not at all.

    Raises OSError, and leaves nothing behind, if the file cannot be written.
    """
    folder, name = os.path.split(path)
    draft = os.path.join(folder, f".{name}-{secrets.token_hex(4)}")  # noqa: PTH118
    try:
        _put(draft, content, os.O_EXCL, mode)
        os.replace(draft, path)  # noqa: PTH105
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)  # noqa: PTH108
        raise


def _put(path: str | os.PathLike[str], content: bytes, flags: int, mode: int = 0o666) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | flags, mode)
    try:
        write_all(descriptor, content, path=path)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def private_file(content: bytes) -> Iterator[str]:
    """Provide a path from which this process can read the content.

    On Linux nothing is written to a disk. Elsewhere it is a temporary file of mode 0600, which
    remains if the process is killed.
    """
    if not hasattr(os, "memfd_create"):
        with tempfile.NamedTemporaryFile() as file:
            file.write(content)
            file.flush()
            yield file.name
        return
    descriptor = os.memfd_create("flake-hunt")
    try:
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            file.write(content)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


class BufferedFile:
    """An open file whose lines are written together."""

    def __init__(self, descriptor: int, path: pathlib.Path) -> None:
        self._descriptor, self._path = descriptor, path
        self._lines: list[bytes] = []

    def settle(self) -> None:
        if self._lines:
            data = b"".join(self._lines)
            self._lines.clear()
            write_all(self._descriptor, data, path=self._path)

    def close(self) -> None:
        self.settle()
        os.close(self._descriptor)


def write_all(descriptor: int, content: bytes, *, path: str | os.PathLike[str]) -> None:
    """Write all of it to an open file. Raises OSError with the file's name."""
    view = memoryview(content)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except OSError as error:
        error.filename = os.fspath(path)
        raise
