"""Writes the views of runs to a folder of Parquet files, in memory that does not grow with them."""

import secrets
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from harness import errors, writing
from harness.history import directories
from harness.tables import database, exports, loading, parquet_parts, views

GROUP_MAX = 64 * 2**20
"""Bytes of the journals of runs that are loaded at once; a larger run is loaded alone."""
_FOLDED = ("holds", "devices")
"""Views that are folded from the observations one by one; SQL makes the others."""


def export(
    runs: Sequence[directories.RunDirectory],
    folder: Path,
    *,
    version: str,
    memory_mib: int = database.MEMORY_MIB,
) -> dict[str, int]:
    """Write the views of runs to a new folder, and return how many rows each of them has.

    The folder appears when all is written. Raises UsageError if it exists, if DuckDB is missing,
    or if observations are damaged, and StorageError or UnwritableError if it cannot be written.
    """
    duckdb = database.require_duckdb()
    if folder.exists() or folder.is_symlink():
        raise errors.UsageError(
            f"expected a new folder for the export, but {folder} exists already: name another one"
        )
    draft = folder.with_name(f".{folder.name}-{secrets.token_hex(4)}")
    with writing.explained(folder):
        draft.mkdir(parents=True)
    try:
        written = _write(runs, draft, memory_mib=memory_mib)
        contents = exports.Contents(version=version, runs=[str(run.path) for run in runs])
        with writing.explained(folder):
            (draft / exports.NAME).write_bytes(msgspec.json.encode(contents) + b"\n")
            draft.rename(folder)
    except duckdb.Error as error:
        raise errors.UsageError(
            f"the export cannot be written: {database.first_paragraph(error)}"
        ) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return written


def _write(
    runs: Sequence[directories.RunDirectory], draft: Path, *, memory_mib: int
) -> dict[str, int]:
    folder = draft / "parts"
    with writing.explained(folder):
        folder.mkdir()
    parts = parquet_parts.Parts(folder)
    for group in _grouped(runs):
        # A database for each group, so that what is loaded is not more than that.
        with database.connected(memory_mib=memory_mib) as connection:
            parts.write_folded(connection, group)
            for run in group:
                database.fill(connection, run, loading.NAMES)
            for view in views.EXPORTED:
                if view not in _FOLDED:
                    parts.write(connection, view, f"SELECT * FROM {view}")
    with database.connected(memory_mib=memory_mib) as connection:
        written = {
            view: parts.joined(connection, view, views.file_of(draft, view))
            for view in views.EXPORTED
        }
    shutil.rmtree(folder)
    return written


def _grouped(
    runs: Sequence[directories.RunDirectory],
) -> Iterator[list[directories.RunDirectory]]:
    """Yield the runs in order, as many at once as their journals have GROUP_MAX bytes."""
    group: list[directories.RunDirectory] = []
    size = 0
    for run in runs:
        more = sum(path.stat().st_size for path in run.journals() if path.is_file())
        if group and size + more > GROUP_MAX:
            yield group
            group, size = [], 0
        group.append(run)
        size += more
    yield group
