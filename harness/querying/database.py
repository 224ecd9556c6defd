"""A DuckDB database in memory with the views of runs; a query reads them and nothing else."""

import contextlib
import importlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from harness import errors
from harness.history import directories
from harness.querying import loading, views

EXTRA = "flake-hunt[analysis]"
"""Extra of the package that installs DuckDB."""
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
    """Return the module. Raises UsageError if it is not installed."""
    try:
        return importlib.import_module("duckdb")
    except ImportError as error:
        raise errors.UsageError(
            f"expected DuckDB, which is not installed: pip install '{EXTRA}'"
        ) from error


@contextlib.contextmanager
def opened(runs: Iterable[directories.RunDirectory], tables: Sequence[str]) -> Iterator[Any]:
    """Yield a connection to a database with these tables of the runs, and with all views.

    It reads no file any more and its settings cannot be changed. Raises UsageError without DuckDB
    and for a file that cannot be read.
    """
    duckdb = require_duckdb()
    with duckdb.connect(":memory:") as connection:
        connection.execute("SET autoinstall_known_extensions = false")
        connection.execute(loading.TABLES)
        for view in views.ALL:
            connection.execute(view)
        for run in runs:
            try:
                loading.load(connection, run, tables)
            except duckdb.Error as error:
                raise errors.UsageError(
                    f"expected the files of a run in {run.path}, but DuckDB cannot read them: "
                    f"{_first_line(error)}"
                ) from error
        connection.execute(_LOCK)
        yield connection


def query(runs: Iterable[directories.RunDirectory], statement: str) -> QueryResult:
    """Return what a query finds in the runs.

    Raises UsageError if it is not a single SELECT, or if DuckDB cannot execute it.
    """
    duckdb = require_duckdb()
    try:
        _require_select(duckdb, statement)
        with opened(runs, views.tables_of(statement)) as connection:
            found = connection.execute(statement)
            columns = [item[0] for item in found.description]
            rows = [[_plain(value) for value in row] for row in found.fetchall()]
            return QueryResult(columns=columns, rows=rows)
    except duckdb.Error as error:
        raise errors.UsageError(f"the query cannot be executed: {_first_line(error)}") from error


def _require_select(duckdb: Any, statement: str) -> None:
    found = duckdb.extract_statements(statement)
    kinds = [item.type for item in found]
    if kinds != [duckdb.StatementType.SELECT]:
        names = ", ".join(kind.name for kind in kinds) or "nothing"
        raise errors.UsageError(f"expected a single SELECT, got {names}: the runs are only read")


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def _plain(value: Any) -> Any:
    """Return a value of DuckDB as JSON has it: other types than those of JSON as text."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
