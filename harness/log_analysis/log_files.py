"""Opens logs: plain, gzip, xz or zstd by their first bytes, in bounded pieces."""

import contextlib
import gzip
import io
import lzma
import pathlib
import sys
import zlib
from collections.abc import Iterator
from typing import Any

from harness import errors, suggestions
from harness.history import directories, zstd_frames

STDIN = "-"
"""The name that stands for standard input."""
PIECE = 2**20
"""Bytes that are read at once, after decompression; they fit a processor's cache."""
_GZIP, _XZ = b"\x1f\x8b", b"\xfd7zXZ\x00"


UNPACKED_MAX = 4 * 2**30
"""Bytes to which a compressed log may grow, however small it is."""
UNPACKED_RATIO_MAX = 200
"""How many times its size a compressed log may grow to; logs of schedulers grow to 10 to 100."""
_DAMAGE = (EOFError, OSError, lzma.LZMAError, zlib.error)
"""Errors of decompressing, and of reading a file."""


class LogDamageError(Exception):
    """The rest of a log cannot be read; the message says why."""


def require_readable(name: str) -> None:
    """Raise UsageError unless this is standard input or a file that can be opened.

    A pipe that is open already, as the shell's `<(…)` gives it, is one, too.
    """
    path = pathlib.Path(name)
    try:
        is_open_pipe = path.is_fifo() and path.resolve().name.startswith("pipe:[")
        is_other = path.exists() and not path.is_file() and not is_open_pipe
        if name != STDIN and is_other:
            raise errors.UsageError(
                f"expected a log file, got {name}, which is a device, a socket, a named pipe or a "
                "folder: name a file, or - to read standard input"
            )
        if name != STDIN:
            path.open("rb").close()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        beside = suggestions.did_you_mean(path.name, (item.name for item in path.parent.glob("*")))
        raise errors.UsageError(
            f"expected a log file, got {name} ({reason}).{beside} Name a file, or - for standard input"
        ) from error


def pieces(name: str) -> Iterator[bytes]:
    """Yield the content of a log, decompressed; `name` is a path, or `-` for standard input.

    Raises LogDamageError at the place where the log is damaged or cut.
    """
    with contextlib.ExitStack() as stack:
        try:
            raw: Any = sys.stdin.buffer if name == STDIN else stack.enter_context(open(name, "rb"))  # noqa: PTH123 - `open` is typed as the reader that stdin is
            file = io.BufferedReader(raw)
            content = _decompressed(file)
            yield from _filled(content) if content is file else _bounded(_filled(content), name)
        except EOFError as error:
            raise LogDamageError("its compressed data ends early") from error
        except _DAMAGE as error:
            raise LogDamageError(f"it cannot be read further ({error})") from error


def _decompressed(file: io.BufferedReader) -> Any:
    begin = file.peek(len(_XZ))
    if begin.startswith(_GZIP):
        return gzip.GzipFile(fileobj=file)
    if begin.startswith(_XZ):
        return lzma.LZMAFile(file)
    return zstd_frames.decompressing(file) if begin.startswith(zstd_frames.MAGIC) else file


def _bounded(content: Iterator[bytes], name: str) -> Iterator[bytes]:
    most = max(UNPACKED_MAX, UNPACKED_RATIO_MAX * size(pathlib.Path(name)))
    for piece in content:
        most -= len(piece)
        if most < 0:
            raise LogDamageError(
                f"it grows to more than {UNPACKED_MAX >> 30} GiB and {UNPACKED_RATIO_MAX} times "
                "its size, and is not read further: decompress it first"
            )
        yield piece


def _filled(content: Any) -> Iterator[bytes]:
    """Yield what can be read, in large pieces; what precedes an error comes before it."""
    parts: list[bytes] = []
    failure: Exception | None = None
    try:
        while part := content.read1(PIECE):
            parts.append(part)
            if sum(map(len, parts)) >= PIECE:
                yield b"".join(parts)
                parts.clear()
    except _DAMAGE as error:
        failure = error
    yield b"".join(parts)
    if failure is not None:
        raise failure


_PATTERNS = (
    "scheduler*.log*",
    "**/pods/kube-system_kube-scheduler-*/kube-scheduler/*.log*",
)
"""Logs of the subject, and those of the cluster's own scheduler as `kind export logs` has them."""


def of_run(directory: directories.RunDirectory) -> list[str]:
    paths = (path for pattern in _PATTERNS for path in sorted(directory.logs.glob(pattern)))
    return [path.relative_to(directory.path).as_posix() for path in paths if size(path)]


def required(path: pathlib.Path) -> list[str]:
    """Return the logs of a run directory. Raises UsageError if it is none, or has none."""
    if names := of_run(directories.existing(path)):
        return names
    raise errors.UsageError(
        f"expected the log of a scheduler in {path / 'logs'}, but there is none, or it is empty: "
        "make the run with --set subject.verbosity=6"
    )


def size(path: pathlib.Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:
        return 0
