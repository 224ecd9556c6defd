"""A DuckDB database with the views of runs and exports; a query reads them and nothing else."""

import contextlib
import importlib
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from harness import errors
from harness.history import directories
from harness.tables import exports, interrupting, loading, views

EXTRA = "analysis"
"""Extra of the package that installs DuckDB."""
MEMORY_MIB = 512
"""Default memory for tables, sorting and joining; the process needs up to 200 MiB more."""
THREADS_MAX = 4
"""Each thread needs a share of the memory; DuckDB recommends 125 MB for each."""
_LOCK = """
SET enable_external_access = false;
SET lock_configuration = true;
"""


class QueryResult(msgspec.Struct, frozen=True, kw_only=True):
    """The rows that a query found, as `--output json` prints them."""

    schema: int = 1
    columns: list[str]
    rows: list[list[Any]]
    """Numbers, text, lists and NULL as JSON has them; values of other types as text."""


def require_duckdb() -> Any:
    """Return the module. Raises MissingExtraError if it is not installed."""
    try:
        return importlib.import_module("duckdb")
    except ImportError as error:
        raise errors.MissingExtraError("DuckDB", EXTRA) from error


@contextlib.contextmanager
def connected(
    exported: Sequence[exports.Export] = (), *, memory_mib: int = MEMORY_MIB
) -> Iterator[Any]:
    """Yield a connection to a database with empty tables and all views, also of exports.

    Data beyond the memory is in a folder for temporary files (TMPDIR), which is removed
    afterwards.
    """
    duckdb = require_duckdb()
    with (
        tempfile.TemporaryDirectory(prefix="flake-hunt-query-") as folder,
        duckdb.connect(":memory:") as connection,
    ):
        connection.execute("SET autoinstall_known_extensions = false")
        connection.execute(f"SET memory_limit = '{memory_mib}MiB'")
        connection.execute(f"SET threads = {min(os.cpu_count() or 1, THREADS_MAX)}")
        connection.execute(f"SET temp_directory = {views.text(folder)}")
        connection.execute(loading.TABLES)
        for statement in views.statements([export.path for export in exported]):
            connection.execute(statement)
        yield connection


@contextlib.contextmanager
def opened(
    runs: Iterable[directories.RunDirectory],
    tables: Sequence[str],
    exported: Sequence[exports.Export] = (),
    *,
    memory_mib: int = MEMORY_MIB,
) -> Iterator[Any]:
    """Yield a connection to a database with these tables of the runs, and with all views.

    It reads no file any more but those of the exports, and its settings cannot be changed. Raises
    UsageError without DuckDB and for a file that cannot be read.
    """
    with connected(exported, memory_mib=memory_mib) as connection:
        for run in runs:
            fill(connection, run, tables)
        # DuckDB looks for the pattern of a file, too, before it looks for the file.
        allowed = ", ".join(
            views.text(form)
            for export in exported
            for view in views.EXPORTED
            for path in [views.file_of(export.path, view)]
            for form in {str(path), loading.exactly(path)}
        )
        connection.execute(f"SET allowed_paths = [{allowed}]")
        connection.execute(_LOCK)
        yield connection


def fill(connection: Any, run: directories.RunDirectory, tables: Sequence[str]) -> None:
    """Add a run to these tables. Raises UsageError for a file that cannot be read."""
    duckdb = require_duckdb()
    try:
        interrupting.run(connection, lambda: loading.load(connection, run, tables))
    except errors.HistoryError as error:
        raise errors.UsageError(f"expected the files of a run in {run.path}: {error}") from error
    except duckdb.Error as error:
        raise errors.UsageError(
            f"expected the files of a run in {run.path}, but DuckDB cannot read them: "
            f"{first_paragraph(error)}"
        ) from error


def query(paths: Iterable[Path], statement: str, *, memory_mib: int = MEMORY_MIB) -> QueryResult:
    """Return what a query finds in run directories and exports.

    Raises UsageError if it is not a single SELECT, or if DuckDB cannot execute it, and
    RunDirectoryError if a path is neither a run directory nor an export.
    """
    duckdb = require_duckdb()
    exported, runs = exports.divided(paths)
    try:
        _require_select(duckdb, statement)
        tables = views.tables_of(statement)
        with opened(runs, tables, exported, memory_mib=memory_mib) as connection:
            return interrupting.run(connection, lambda: _found(connection, statement))
    except duckdb.OutOfMemoryException as error:
        raise errors.UsageError(
            f"the query needs more than {memory_mib} MiB of memory: allow more with --memory"
        ) from error
    except duckdb.Error as error:
        raise errors.UsageError(
            f"the query cannot be executed: {first_paragraph(error)}"
        ) from error


def _found(connection: Any, statement: str) -> QueryResult:
    found = connection.execute(statement)
    columns = [item[0] for item in found.description]
    rows = [[_plain(value) for value in row] for row in found.fetchall()]
    return QueryResult(columns=columns, rows=rows)


def first_paragraph(error: Exception) -> str:
    """Return what DuckDB says, with the name that was meant, without the query itself."""
    return " ".join(str(error).strip().partition("\n\n")[0].split())


def _require_select(duckdb: Any, statement: str) -> None:
    found = duckdb.extract_statements(statement)
    kinds = [item.type for item in found]
    if kinds != [duckdb.StatementType.SELECT]:
        names = ", ".join(kind.name for kind in kinds) or "nothing"
        raise errors.UsageError(f"expected a single SELECT, got {names}: the runs are only read")


def _plain(value: Any) -> Any:
    """Return a value of DuckDB as JSON has it: other types than those of JSON as text."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
