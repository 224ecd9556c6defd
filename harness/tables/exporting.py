"""Writes the tables of runs to a folder of Parquet files, in memory that does not grow with them.

DuckDB writes the files: it is needed to query them, and pyarrow would add 150 MB.
"""

import collections
import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from harness import errors, writing
from harness.history import directories
from harness.tables import database, definitions, exports, reading

_FORMAT = f"(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {reading.ROWS_AT_ONCE})"


def export(
    runs: Sequence[directories.RunDirectory],
    folder: Path,
    *,
    version: str,
    memory_mib: int = database.MEMORY_MIB,
) -> dict[str, int]:
    """Write the tables of runs to a new folder, and return how many rows each of them has.

    The folder appears when all is written. Raises UsageError if it exists, if DuckDB is missing,
    or if a journal is damaged, and StorageError or UnwritableError if it cannot be written.
    """
    duckdb = database.require_duckdb()
    if folder.exists() or folder.is_symlink():
        raise errors.UsageError(
            f"expected a new folder for the export, but {folder} exists already: name another one"
        )
    draft = folder.with_name(f".{folder.name}-{secrets.token_hex(4)}")
    with writing.explained(folder):
        (draft / "parts").mkdir(parents=True)
    try:
        with database.connected(memory_mib=memory_mib) as connection:
            written = _write(connection, runs, draft)
        contents = exports.Contents(version=version, runs=[str(run.path) for run in runs])
        with writing.explained(folder):
            shutil.rmtree(draft / "parts")
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
    connection: Any, runs: Sequence[directories.RunDirectory], draft: Path
) -> dict[str, int]:
    """Write each table in parts, and then the parts of each to one file."""
    waiting: dict[str, reading.Rows] = {name: [] for name in definitions.TABLES}
    counts: collections.Counter[str] = collections.Counter()
    for run in runs:
        for table, rows in reading.read(run, list(definitions.TABLES)):
            waiting[table.name] += rows
            if len(waiting[table.name]) >= reading.ROWS_AT_ONCE:
                _write_part(connection, draft, table.name, waiting, counts)
    written = {}
    for name in definitions.TABLES:
        _write_part(connection, draft, name, waiting, counts)
        parts = exports.text(f"{exports.exactly(draft / 'parts')}/{name}-*.parquet")
        source = f"SELECT * FROM read_parquet({parts})"
        written[name] = copy(connection, source, exports.file_of(draft, name))
    return written


def _write_part(
    connection: Any,
    draft: Path,
    name: str,
    waiting: dict[str, reading.Rows],
    counts: "collections.Counter[str]",
) -> None:
    rows, waiting[name] = waiting[name], []
    with database.registered(connection, definitions.TABLES[name], rows) as source:
        copy(connection, source, draft / "parts" / f"{name}-{counts[name]:08}.parquet")
    counts[name] += 1


def copy(connection: Any, source: str, path: Path) -> int:
    """Write what a SELECT finds to a Parquet file, and return the number of rows.

    Raises duckdb.Error.
    """
    statement = f"COPY ({source}) TO {exports.text(path)} {_FORMAT}"
    found = database.interruptible(connection, lambda: connection.execute(statement).fetchone())
    return int(found[0])
