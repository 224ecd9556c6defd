"""Makes the files of a run smaller without taking anything that its verdict needs.

The timeline is left out: `flake-hunt report` makes it again. Journals and logs are compressed as
far as possible, and manifest.json lists the files as they are then.
"""

import io
from collections.abc import Iterator

from harness.history import journal_reader, zstd_frames
from harness.packing import contents, staging

LEVEL = 19
"""A tenth to a fifth less than the level of runs, for about a second a megabyte."""
LEFT_OUT = "its timeline, trace.json, which flake-hunt report RUN_DIR makes again"
_PIECE = 2**20


def smaller(run: contents.RunContent) -> contents.RunContent:
    """Return the run with smaller files, and with the verdict on these.

    Raises UsageError if that would be another verdict.
    """
    files = {name: _smaller(name, data) for name, data in run.files.items()}
    with staging.staged(files) as directory:
        sealed = staging.sealed(run, directory)
    kept = {name: data for name, data in sealed.files.items() if not name.startswith("trace.json")}
    return contents.with_files(sealed, kept)


def _smaller(name: str, data: bytes) -> bytes:
    if not name.endswith(zstd_frames.SUFFIX):
        return data
    try:
        compressed = b"".join(_frames(data))
    except (zstd_frames.FrameError, EOFError):
        return data
    return min(compressed, data, key=len)


def _frames(data: bytes) -> Iterator[bytes]:
    """Yield frames of the same content; the last line has one of its own, as it had."""
    compressor = zstd_frames.Compressor(level=LEVEL)
    content, rest = zstd_frames.decompressing(io.BytesIO(data), buffer=_PIECE), b""
    while piece := content.read(_PIECE):
        rest += piece
        yield compressor.append(rest[: -journal_reader.TRAILER_MAX])
        rest = rest[-journal_reader.TRAILER_MAX :]
    begin = rest.rfind(b"\n", 0, max(len(rest) - 1, 0)) + 1
    yield compressor.append(rest[:begin]) + compressor.end()
    yield compressor.append(rest[begin:]) + compressor.end()
