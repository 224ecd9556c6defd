"""Makes the files of a run smaller without taking anything that its verdict needs.

The timeline is left out: `flake-hunt report` makes it again. Journals and logs are compressed as
far as possible, and manifest.json lists the files as they are then.
"""

import dataclasses

from harness.history import compressed_files, zstd_frames
from harness.packing import contents, staging

LEVELS = (15, 19)
"""Levels that are tried one after the other: a run's journals become a twentieth smaller, for
0.05 s a megabyte of their content, and then a sixth, for half a second."""
LEFT_OUT = "its timeline, trace.json, which flake-hunt report RUN_DIR makes again"


def smaller(run: contents.RunContent, level: int) -> contents.RunContent:
    """Return the run with smaller files, and with the verdict on these.

    Raises UsageError if that would be another verdict.
    """
    files = dict(_smaller(name, data, level) for name, data in run.files.items())
    with staging.staged(files) as directory:
        sealed = staging.sealed(run, directory)
    kept = {name: data for name, data in sealed.files.items() if not name.startswith("trace.json")}
    return dataclasses.replace(sealed, files=kept)


def _smaller(name: str, data: bytes, level: int) -> tuple[str, bytes]:
    """Return a file of a run, compressed as far as possible if it is a journal or a log."""
    if not _is_compressible(name, data):
        return name, data
    compressed_name = name.removesuffix(zstd_frames.SUFFIX) + zstd_frames.SUFFIX
    try:
        compressed = b"".join(compressed_files.frames(contents.opened(name, data), level))
    except (zstd_frames.FrameError, EOFError):
        return name, data
    return min((compressed_name, compressed), (name, data), key=lambda found: len(found[1]))


def _is_compressible(name: str, data: bytes) -> bool:
    is_large = len(data) >= compressed_files.LEAST_BYTES
    is_record = name.endswith(".jsonl") or (name.startswith("audit/") and not name.endswith(".gz"))
    return name.endswith(zstd_frames.SUFFIX) or (is_record and is_large)
