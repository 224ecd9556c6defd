"""Parts of a view in Parquet files, which become one file; holds are written as they end.

DuckDB writes the files: it is needed to query them, and pyarrow would add 150 MB.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from harness import errors
from harness.history import directories, journal_reader
from harness.tables import closed_holds, interrupting, loading, views

ROWS_OF_GROUP = 122_880
"""Rows that are in memory at once, and the rows of a row group of Parquet: DuckDB's default."""
Columns: TypeAlias = Mapping[str, npt.NDArray[Any]]
_FORMAT = f"(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROWS_OF_GROUP})"
_NEVER = -(2**63)
"""A version or time that there is not: NULL in the file."""
_HOLDS = f"""
SELECT run::VARCHAR AS run, device::VARCHAR AS device, uid::VARCHAR AS uid, namespace::VARCHAR AS namespace,
    name::VARCHAR AS name, kind::VARCHAR AS kind,
    from_rv::BIGINT AS from_rv, nullif(until_rv::BIGINT, {_NEVER}) AS until_rv,
    from_ts_ns::BIGINT AS from_ts_ns, nullif(until_ts_ns::BIGINT, {_NEVER}) AS until_ts_ns
FROM batch
"""
_DEVICES = """
SELECT run::VARCHAR AS run, device::VARCHAR AS device, shareable::BOOLEAN AS shareable FROM batch
"""
_NUMBERS = ("from_rv", "until_rv", "from_ts_ns", "until_ts_ns")


class Parts:
    """A folder of parts; their names say to which view they belong."""

    def __init__(self, folder: Path) -> None:
        """Use an empty folder."""
        self._folder, self._numbers = folder, itertools.count()

    def write(self, connection: Any, view: str, source: str) -> None:
        """Write what a SELECT finds as a part of a view. Raises duckdb.Error."""
        copy(connection, source, self._folder / f"{view}-{next(self._numbers):08}.parquet")

    def write_folded(self, connection: Any, runs: Sequence[directories.RunDirectory]) -> None:
        """Write the holds of runs as they end, and then their devices.

        Raises UsageError if observations are damaged, and duckdb.Error.
        """
        devices: list[tuple[str, str, bool]] = []
        rows = itertools.chain.from_iterable(_closed(run, devices) for run in runs)
        while True:
            batch = list(itertools.islice(rows, ROWS_OF_GROUP))
            self._write_batch(connection, "holds", _HOLDS, _of_holds(batch))
            if len(batch) < ROWS_OF_GROUP:
                break
        columns = _columns(devices, {"run": object, "device": object, "shareable": np.bool_})
        self._write_batch(connection, "devices", _DEVICES, columns)

    def joined(self, connection: Any, view: str, path: Path) -> int:
        """Write all parts of a view to one file, and return its number of rows."""
        parts = views.text(f"{loading.exactly(self._folder)}/{view}-*.parquet")
        return copy(connection, f"SELECT * FROM read_parquet({parts})", path)

    def _write_batch(self, connection: Any, view: str, source: str, columns: Columns) -> None:
        connection.register("batch", dict(columns))
        try:
            self.write(connection, view, source)
        finally:
            connection.unregister("batch")


def copy(connection: Any, source: str, path: Path) -> int:
    """Write what a SELECT finds to a Parquet file, and return the number of rows.

    Raises duckdb.Error.
    """
    statement = f"COPY ({source}) TO {views.text(path)} {_FORMAT}"
    found = interrupting.run(connection, lambda: connection.execute(statement).fetchone())
    return int(found[0])


def _closed(
    run: directories.RunDirectory, devices: list[tuple[str, str, bool]]
) -> Iterator[tuple[Any, ...]]:
    """Yield the path and the fields of each hold; add the devices at the end."""
    fold, name = closed_holds.HoldFold(), str(run.path)
    try:
        for path in run.all_observations():
            for hold in fold.closed(journal_reader.Reader(path)):
                yield name, *hold
    except (errors.HistoryError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise errors.UsageError(
            f"expected whole observations in {run.path}, but they are damaged ({error}): "
            "`flake-hunt check` says more"
        ) from error
    devices += [(name, device, shareable) for device, shareable in fold.shareable.items()]


def _of_holds(batch: Sequence[tuple[Any, ...]]) -> Columns:
    names = ("run", *closed_holds.HoldRow._fields)
    kinds = {name: np.int64 if name in _NUMBERS else object for name in names}
    return _columns(batch, kinds)


def _columns(rows: Sequence[tuple[Any, ...]], kinds: Mapping[str, Any]) -> Columns:
    """Return the columns of rows; numbers that are None as _NEVER."""
    return {
        name: np.array(
            [_NEVER if row[at] is None else row[at] for row in rows],
            dtype=kind,
        )
        for at, (name, kind) in enumerate(kinds.items())
    }
