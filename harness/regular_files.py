"""Opens files for reading, without ever waiting: a FIFO, a device or a socket is refused.

Every file that is named by a user, or found in a folder that may come from anywhere, is opened
here. The refusal is an OSError, as all errors of opening are.
"""

import errno
import io
import os
import stat

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class IrregularFileError(OSError):
    """It is there, but no regular file; `strerror` says what it is."""


def opened(
    path: str | os.PathLike[str], *, buffer: int = io.DEFAULT_BUFFER_SIZE
) -> io.BufferedReader:
    """Open for reading; `buffer` bytes are read at once.

    Raises IrregularFileError if it is not a regular file, or another OSError.
    """
    # The bits that keep it from waiting have no effect on a regular file.
    require(path)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        _require(os.fstat(descriptor).st_mode, path)
    except IrregularFileError:
        os.close(descriptor)
        raise
    return io.BufferedReader(io.FileIO(descriptor, "rb"), buffer)


def content(path: str | os.PathLike[str]) -> bytes:
    """Return the content. Raises IrregularFileError, or another OSError."""
    with opened(path) as file:
        return file.read()


def text(path: str | os.PathLike[str]) -> str:
    """Return the content as text with `\\n` at the ends of lines.

    Raises IrregularFileError, or another OSError, and UnicodeDecodeError if it is not UTF-8.
    """
    return io.TextIOWrapper(io.BytesIO(content(path)), encoding="utf-8").read()


def require(path: str | os.PathLike[str]) -> None:
    """Raise IrregularFileError unless it is a regular file, or another OSError.

    For files that a library opens.
    """
    _require(os.stat(path).st_mode, path)  # noqa: PTH116 - for each of many small files


def _require(mode: int, path: str | os.PathLike[str]) -> None:
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise IrregularFileError(errno.EINVAL, f"expected a file, got {kind}", os.fspath(path))
