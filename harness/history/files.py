"""Opens files that anyone may have put into a run directory: regular files only, and never more of them than a bound."""

import hashlib
import io
import os
import pathlib
import stat

from harness import errors

SMALL_MAX = 64 * 2**20
"""Bytes of a file that is read whole, such as plan.json; real ones have some thousands."""
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def open_regular(path: pathlib.Path) -> io.BufferedReader:
    """Open for reading; HistoryError when it is not a regular file or cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise errors.HistoryError(f"{path.name}: cannot be read ({error.strerror})") from error
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise errors.HistoryError(f"{path.name}: expected a file, got {kind}")
    return os.fdopen(descriptor, "rb")


def read_small(path: pathlib.Path) -> bytes:
    """Return the whole content; HistoryError when it is not a regular file, cannot be read or has more than SMALL_MAX bytes."""
    with open_regular(path) as file:
        try:
            content = file.read(SMALL_MAX + 1)
        except OSError as error:
            raise errors.HistoryError(f"{path.name}: cannot be read ({error.strerror})") from error
    if len(content) > SMALL_MAX:
        raise errors.HistoryError(f"{path.name}: expected at most {SMALL_MAX} bytes")
    return content


def digest(path: pathlib.Path) -> str:
    """Return `sha256:<hex>` of a file, read in pieces; of what cannot be read, the reason."""
    try:
        with open_regular(path) as file:
            return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
    except errors.HistoryError as error:
        return str(error)
    except OSError as error:
        return f"{path.name}: cannot be read ({error.strerror})"
