"""Reads files of a run directory, which may come from anywhere: regular files only, and bounded."""

import hashlib
import io
import os
import pathlib

from harness import errors, regular_files

SMALL_MAX = 64 * 2**20
"""Largest file that is read at once, such as plan.json, in bytes; most have a few thousand."""


def open_regular(path: pathlib.Path, *, buffer: int = io.DEFAULT_BUFFER_SIZE) -> io.BufferedReader:
    """Open for reading; `buffer` bytes are read at once.

    Raises HistoryError if it is not a regular file or cannot be read.
    """
    try:
        return regular_files.opened(path, buffer=buffer)
    except regular_files.IrregularFileError as error:
        raise errors.HistoryError(f"{path.name}: {error.strerror}") from error
    except OSError as error:
        raise errors.HistoryError(f"{path.name}: cannot be read ({error.strerror})") from error


def read_small(path: pathlib.Path) -> bytes:
    """Return the content.

    Raises HistoryError if it is not a regular file, cannot be read or exceeds SMALL_MAX.
    """
    with open_regular(path) as file:
        try:
            content = file.read(SMALL_MAX + 1)
        except OSError as error:
            raise errors.HistoryError(f"{path.name}: cannot be read ({error.strerror})") from error
    if len(content) > SMALL_MAX:
        raise errors.HistoryError(f"{path.name}: expected at most {SMALL_MAX} bytes")
    return content


def size(path: pathlib.Path) -> int:
    """Return the number of bytes.

    Raises HistoryError if it is not a regular file or cannot be opened.
    """
    with open_regular(path) as file:
        return os.fstat(file.fileno()).st_size


def digest(path: pathlib.Path) -> str:
    """Return `sha256:<hex>` of the content.

    Raises HistoryError if it is not a regular file or cannot be read.
    """
    with open_regular(path) as file:
        try:
            return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
        except OSError as error:
            raise errors.HistoryError(f"{path.name}: cannot be read ({error.strerror})") from error


def digest_or_reason(path: pathlib.Path) -> str:
    """Return `sha256:<hex>` of the content; the reason if it cannot be read."""
    try:
        return digest(path)
    except errors.HistoryError as error:
        return str(error)
