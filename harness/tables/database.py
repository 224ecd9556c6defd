"""A DuckDB database with the tables of runs; a query reads them alone."""

import contextlib
import functools
import importlib
import os
import re
import secrets
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent import futures
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from harness import errors, writing
from harness.history import directories
from harness.tables import columns, definitions, reading

T = TypeVar("T")
EXTRA = "analysis"
"""Extra of the package that installs DuckDB."""
THREADS_MAX = 4
"""Each thread needs a share of the memory; DuckDB recommends 125 MB for each."""
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


def _require_duckdb() -> Any:
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
def connected(
    statements: Iterable[str] = (), *, memory_mib: int = definitions.MEMORY_MIB
) -> Iterator[Any]:
    """Yield a connection to an empty database in which these statements were executed.

    Data beyond the memory is in a folder for temporary files (TMPDIR), which is removed
    afterwards.
    """
    duckdb = _require_duckdb()
    with (
        tempfile.TemporaryDirectory(prefix="flake-hunt-query-") as folder,
        duckdb.connect(":memory:") as connection,
    ):
        connection.execute("SET autoinstall_known_extensions = false")
        connection.execute(f"SET memory_limit = '{memory_mib}MiB'")
        connection.execute(f"SET threads = {min(os.cpu_count() or 1, THREADS_MAX)}")
        connection.execute(f"SET temp_directory = {_text(folder)}")
        for statement in statements:
            connection.execute(statement)
        yield connection


def _text(value: object) -> str:
    return "'" + str(value).replace("'", "''") + "'"


def _creations() -> Iterator[str]:
    for name, table in definitions.TABLES.items():
        types = ", ".join(f'"{column.name}" {column.kind.sql}' for column in table.columns)
        yield f"CREATE TABLE {name} ({types})"


def query(
    paths: Iterable[Path], statement: str, *, memory_mib: int = definitions.MEMORY_MIB
) -> QueryResult:
    """Return what a query finds in run directories; raises as `_answered` does."""
    with _answered(paths, statement, memory_mib=memory_mib) as (connection, found):
        rows = interruptible(connection, found.fetchall)
        return QueryResult(columns=found.columns, rows=[list(map(_plain, row)) for row in rows])


def write(
    file: Path, paths: Iterable[Path], statement: str, *, memory_mib: int = definitions.MEMORY_MIB
) -> None:
    """Write what a query finds as Parquet or CSV, by the file's suffix, whole or not at all.

    Raises StorageError or UnwritableError, too, if the file cannot be written.
    """
    draft = file.resolve().with_name(f".{file.name}-{secrets.token_hex(4)}")
    with writing.explained(file), contextlib.ExitStack() as stack:
        stack.callback(draft.unlink, missing_ok=True)
        with _answered(paths, statement, draft, memory_mib=memory_mib) as (connection, found):
            if file.suffix == ".parquet":
                written = functools.partial(found.write_parquet, compression="zstd")
            else:
                written = found.write_csv
            interruptible(connection, lambda: written(str(draft)))
        draft.replace(file)


@contextlib.contextmanager
def _answered(
    paths: Iterable[Path], statement: str, file: Path | None = None, *, memory_mib: int
) -> Iterator[tuple[Any, Any]]:
    """Yield a connection, and what a query finds in run directories.

    It touches no file but this one, and cannot change settings. Raises UsageError if it is not a
    single SELECT, if DuckDB cannot execute it, or if a journal is damaged, and RunDirectoryError
    if a path is no run directory.
    """
    duckdb = _require_duckdb()
    runs = [directories.existing(path) for path in paths]
    words = {*re.findall(r"\w+", statement.lower())}
    asked = [name for name in definitions.TABLES if name in words]
    try:
        _require_select(duckdb, statement)
        with connected(_creations(), memory_mib=memory_mib) as connection:
            for table, rows in (part for run in runs for part in reading.read(run, asked)):
                connection.register("batch", columns.frame(table, rows))
                connection.execute(f"INSERT INTO {table.name} SELECT * FROM batch")
                connection.unregister("batch")
            connection.execute(f"SET allowed_paths = [{_text(file) if file else ''}]")
            connection.execute(_LOCK)
            found = interruptible(connection, lambda: connection.sql(statement.rstrip("; \n")))
            yield connection, found
    except duckdb.OutOfMemoryException as error:
        raise errors.UsageError(
            f"the query needs more than {memory_mib} MiB of memory: allow more with --memory"
        ) from error
    except duckdb.Error as error:
        said = " ".join(str(error).strip().partition("\n\n")[0].split())  # not the query itself
        raise errors.UsageError(f"the query cannot be executed: {said}") from error


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
