"""Reads files of a run directory, which may come from anywhere: regular files only, and bounded."""

import contextlib
import hashlib
import io
import os
import pathlib
from collections.abc import Collection, Iterator
from typing import TypeVar

import msgspec

from harness import errors, regular_files

T = TypeVar("T")
DECODING = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""The errors of decoding JSON."""
SMALL_MAX = 64 * 2**20
"""Largest file that is read at once, such as plan.json, in bytes; most have a few thousand."""


@contextlib.contextmanager
def _explained(path: pathlib.Path) -> Iterator[None]:
    """Raise HistoryError, with the name of the file, for what the system says of it."""
    try:
        yield
    except regular_files.IrregularFileError as error:
        raise errors.HistoryError(f"{path.name}: {error.strerror}") from error
    except OSError as error:
        raise errors.HistoryError(f"{path.name}: cannot be read ({error.strerror})") from error


def open_regular(path: pathlib.Path, *, buffer: int = io.DEFAULT_BUFFER_SIZE) -> io.BufferedReader:
    """Open for reading; `buffer` bytes are read at once.

    Raises HistoryError if it is not a regular file or cannot be read.
    """
    with _explained(path):
        return regular_files.opened(path, buffer=buffer)


def read_small(path: pathlib.Path) -> bytes:
    """Return the content.

    Raises HistoryError if it is not a regular file, cannot be read or exceeds SMALL_MAX.
    """
    with open_regular(path) as file, _explained(path):
        content = file.read(SMALL_MAX + 1)
    if len(content) > SMALL_MAX:
        raise errors.HistoryError(f"{path.name}: expected at most {SMALL_MAX} bytes")
    return content


class _Head(msgspec.Struct):
    schema: int


def decoded(content: bytes, kind: type[T], *, schemas: Collection[int] = ()) -> T:
    """Return the value of JSON. Raises HistoryError if it is none of its type.

    `schemas`: those that it may have; of another one, nothing else is read.
    """
    try:
        schema = msgspec.json.decode(content, type=_Head).schema if schemas else None
        if not schemas or schema in schemas:
            return msgspec.json.decode(content, type=kind)
    except DECODING as error:
        raise errors.HistoryError(str(error)) from error
    known = " to ".join(map(str, sorted({min(schemas), max(schemas)})))
    raise errors.HistoryError(
        f"expected schema {known}, got {schema}: read it with the version of Flake Hunt that wrote it"
    )


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
    with open_regular(path) as file, _explained(path):
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def digest_or_reason(path: pathlib.Path) -> str:
    """Return `sha256:<hex>` of the content; the reason if it cannot be read."""
    try:
        return digest(path)
    except errors.HistoryError as error:
        return str(error)
