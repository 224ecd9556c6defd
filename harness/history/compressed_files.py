"""Compresses the evidence of a run when all of it is written, as whole files: `<name>.zst`.

`directories` finds either form, and every reader takes both. Small files stay as they are.
"""

import contextlib
import pathlib
from collections.abc import Iterator
from typing import IO

from harness import regular_files
from harness.history import directories, journal_reader, zstd_frames

LEAST_BYTES = 16 * 2**10
"""Size from which a journal or an audit log is compressed."""
LEAST_LOG_BYTES = 2**20
"""Size from which the output of a process is compressed: people read it with a pager."""
LEVEL = 9
"""A third less than Zstandard's default, for 0.2 s of a processor for a large run."""
_PIECE = 2**20


def compress_run(directory: directories.RunDirectory) -> None:
    """Compress the journals, the audit log and large logs of a run that has ended.

    A file that cannot be read or written again stays as it is.
    """
    least_bytes = dict.fromkeys(directory.logs.rglob("*.log"), LEAST_LOG_BYTES)
    least_bytes |= dict.fromkeys([*directory.journals(), *directory.audit_logs()], LEAST_BYTES)
    for path, least in least_bytes.items():
        is_plain = path.suffix not in (zstd_frames.SUFFIX, ".gz") and not path.is_symlink()
        if is_plain and path.is_file() and path.stat().st_size >= least:
            with contextlib.suppress(OSError):
                compress(path)


def compress(path: pathlib.Path) -> pathlib.Path:
    """Replace a file by its compressed form, and return that; it is there whole or not at all.

    Raises OSError, and then the file is as it was.
    """
    target = path.with_name(path.name + zstd_frames.SUFFIX)
    unfinished = path.with_name(f".{target.name}.unfinished")
    try:
        with regular_files.opened(path) as source, unfinished.open("wb") as file:
            file.writelines(frames(source, LEVEL))
        unfinished.replace(target)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise
    path.unlink()
    return target


def frames(content: IO[bytes], level: int) -> Iterator[bytes]:
    """Yield zstd frames of a content; the last line has one of its own, as journals write it."""
    compressor, rest = zstd_frames.Compressor(level=level), b""
    while piece := content.read(_PIECE):
        rest += piece
        yield compressor.append(rest[: -journal_reader.TRAILER_MAX])
        rest = rest[-journal_reader.TRAILER_MAX :]
    begin = rest.rfind(b"\n", 0, max(len(rest) - 1, 0)) + 1
    yield compressor.append(rest[:begin]) + compressor.end()
    yield compressor.append(rest[begin:]) + compressor.end()
