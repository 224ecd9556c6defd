"""A DuckDB database with the tables of runs and exports as views; a query reads them alone."""

import contextlib
import dataclasses
import importlib
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent import futures
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from harness import errors
from harness.history import directories
from harness.tables import columns, definitions, exports, reading, second_views

T = TypeVar("T")
EXTRA = "analysis"
"""Extra of the package that installs DuckDB."""
MEMORY_MIB = 512
"""Default memory for tables, sorting and joining; the process needs up to 200 MiB more."""
THREADS_MAX = 4
"""Each thread needs a share of the memory; DuckDB recommends 125 MB for each."""
EXCLUSIVITY = "exclusivity"
"""The view that counts double allocations among the table `holds`."""
_BEHIND_EXCLUSIVITY = ("holds", "devices")
_ROWS_AT_ONCE = 10_000
"""Rows of an answer that are in memory at once as Python's objects."""
_AGAIN_S = 0.05
"""Seconds after which an interruption is repeated that came before DuckDB had begun."""
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


def interruptible(connection: Any, work: Callable[[], T]) -> T:
    """Return what the work with a connection returns; a KeyboardInterrupt ends it soon.

    While DuckDB works, no signal handler of Python is called.
    """
    with futures.ThreadPoolExecutor(max_workers=1) as pool:
        future = pool.submit(work)
        try:
            return future.result()
        except KeyboardInterrupt:
            while not future.done():
                connection.interrupt()
                futures.wait([future], timeout=_AGAIN_S)
            raise


@contextlib.contextmanager
def connected(statements: Iterable[str] = (), *, memory_mib: int = MEMORY_MIB) -> Iterator[Any]:
    """Yield a connection to an empty database in which these statements were executed.

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
        connection.execute(f"SET temp_directory = {exports.text(folder)}")
        for statement in statements:
            connection.execute(statement)
        yield connection


def views(exported: Sequence[exports.Export] = ()) -> Iterator[str]:
    """Yield the statements that make an empty table of runs and a view for each table.

    A view has the rows of that table and of exports; NULL where an older export lacks a column.
    """
    for name, table in definitions.TABLES.items():
        types = ", ".join(f'"{column.name}" {column.kind.sql}' for column in table.columns)
        yield f"CREATE TABLE of_runs_{name} ({types})"
        paths = [exports.exactly(export.file(name)) for export in exported if export.has(name)]
        sources = [f"SELECT * FROM of_runs_{name}"]
        if paths:
            files = ", ".join(map(exports.text, paths))
            sources.append(f"SELECT * FROM read_parquet([{files}], union_by_name = true)")
        yield f"CREATE VIEW {name} AS {' UNION ALL BY NAME '.join(sources)}"
    yield second_views.EXCLUSIVITY


def tables_of(statement: str) -> list[str]:
    """Return the tables that a query can read: those whose names are in it."""
    words = set(re.findall(r"\w+", statement.lower()))
    words |= set(_BEHIND_EXCLUSIVITY if EXCLUSIVITY in words else ())
    return [name for name in definitions.TABLES if name in words]


def fill(connection: Any, run: directories.RunDirectory, tables: Sequence[str]) -> None:
    """Add a run to these tables. Raises UsageError for a journal that is damaged."""
    for table, rows in reading.read(run, tables):
        with registered(connection, table, rows) as source:
            connection.execute(f"INSERT INTO of_runs_{table.name} {source}")


@contextlib.contextmanager
def registered(connection: Any, table: definitions.Table, rows: reading.Rows) -> Iterator[str]:
    """Yield a SELECT of rows that were read."""
    connection.register("batch", columns.arrays(table, rows))
    try:
        yield columns.selection(table, "batch")
    finally:
        connection.unregister("batch")


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a query; its rows are fetched as they are asked for."""

    columns: list[str]
    rows: Iterator[list[Any]]


def query(paths: Iterable[Path], statement: str, *, memory_mib: int = MEMORY_MIB) -> QueryResult:
    """Return what a query finds in run directories and exports; raises as `answered` does."""
    with answered(paths, statement, memory_mib=memory_mib) as found:
        return QueryResult(columns=found.columns, rows=list(found.rows))


@contextlib.contextmanager
def answered(
    paths: Iterable[Path], statement: str, *, memory_mib: int = MEMORY_MIB
) -> Iterator[Answer]:
    """Yield what a query finds in run directories and exports.

    It reads no file but those of the exports, and cannot change settings. Raises UsageError if it
    is not a single SELECT, if DuckDB cannot execute it, or if a journal is damaged, and
    RunDirectoryError if a path is neither a run directory nor an export.
    """
    duckdb = require_duckdb()
    exported, runs = exports.divided(paths)
    try:
        _require_select(duckdb, statement)
        tables = tables_of(statement)
        with connected(views(exported), memory_mib=memory_mib) as connection:
            for run in runs:
                fill(connection, run, tables)
            _lock(connection, exported)
            found = interruptible(connection, lambda: connection.execute(statement))
            yield Answer([item[0] for item in found.description], _fetched(connection, found))
    except duckdb.OutOfMemoryException as error:
        raise errors.UsageError(
            f"the query needs more than {memory_mib} MiB of memory: allow more with --memory"
        ) from error
    except duckdb.Error as error:
        raise errors.UsageError(
            f"the query cannot be executed: {first_paragraph(error)}"
        ) from error


def _lock(connection: Any, exported: Sequence[exports.Export]) -> None:
    # DuckDB looks for the pattern of a file, too, before it looks for the file.
    allowed = ", ".join(
        exports.text(form)
        for export in exported
        for name in definitions.TABLES
        for form in {str(export.file(name)), exports.exactly(export.file(name))}
    )
    connection.execute(f"SET allowed_paths = [{allowed}]")
    connection.execute(_LOCK)


def _fetched(connection: Any, found: Any) -> Iterator[list[Any]]:
    while rows := interruptible(connection, lambda: found.fetchmany(_ROWS_AT_ONCE)):
        yield from ([_plain(value) for value in row] for row in rows)


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
