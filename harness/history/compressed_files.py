"""Compresses the evidence of a run when all of it is written, as whole files: `<name>.zst`.

`directories` finds either form, and every reader takes both. Small files stay as they are.
"""

import contextlib
import pathlib
from collections.abc import Callable, Iterator

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
    for path, least in _candidates(directory):
        is_plain = path.suffix not in (zstd_frames.SUFFIX, ".gz") and not path.is_symlink()
        if is_plain and path.is_file() and path.stat().st_size >= least:
            with contextlib.suppress(OSError):
                compress(path)


def _candidates(directory: directories.RunDirectory) -> Iterator[tuple[pathlib.Path, int]]:
    for path in (*directory.journals(), *directory.audit_logs()):
        yield path, LEAST_BYTES
    for path in directory.logs.rglob("*.log"):
        yield path, LEAST_LOG_BYTES


def compress(path: pathlib.Path) -> pathlib.Path:
    """Replace a file by its compressed form, and return that; it is there whole or not at all.

    The last line has a frame of its own, as that of a journal whose writer compressed it.
    """
    target = path.with_name(path.name + zstd_frames.SUFFIX)
    unfinished = path.with_name(f".{target.name}.unfinished")
    try:
        with regular_files.opened(path) as source, unfinished.open("wb") as file:
            for frame in _frames(source.read, _last_line(path)):
                file.write(frame)
        unfinished.replace(target)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise
    path.unlink()
    return target


def _frames(read: Callable[[int], bytes], begin: int) -> Iterator[bytes]:
    compressor = zstd_frames.Compressor(level=LEVEL)
    while begin > 0:
        piece = read(min(begin, _PIECE))
        begin = begin - len(piece) if piece else 0
        yield compressor.append(piece)
    yield compressor.end()
    while piece := read(_PIECE):
        yield compressor.append(piece)
    yield compressor.end()


def _last_line(path: pathlib.Path) -> int:
    """Return where the last line begins; the end of the file if it is longer than a trailer."""
    size = path.stat().st_size
    begin = max(size - journal_reader.TRAILER_MAX, 0)
    with regular_files.opened(path) as file:
        file.seek(begin)
        end = file.read()
    found = end.rfind(b"\n", 0, max(len(end) - 1, 0))
    return begin + found + 1 if found >= 0 else size
