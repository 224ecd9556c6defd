"""The second judge of exclusivity: counts double allocations in SQL, to compare with the check.

Both read the same observations and share no code. If they do not agree, one of them is wrong and
the verdict is UNKNOWN, whatever the check says.
"""

import contextlib
import dataclasses
import functools
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any

from harness import errors
from harness.history import directories, files, zstd_frames
from harness.tables import database, exports, second_views

NAME = "second-judge"
_COUNTS = "SELECT run, examined, double_allocations FROM exclusivity"


@dataclasses.dataclass(frozen=True, slots=True)
class Count:
    """The figures of one judge about a run."""

    examined: int
    """Holds that exclude others, and shares of devices that can be shared."""
    doubled: int
    """Pairs of holds that overlap though they may not."""


@dataclasses.dataclass(frozen=True, slots=True)
class Comparison:
    """The counts of both judges."""

    check: Count
    """Count of the check `device_exclusivity`, from the same observations without any doubt
    removed."""
    second: Count | None
    """None: SQL cannot read the observations."""
    problem: str = ""

    @property
    def ok(self) -> bool:
        """True if both counted the same."""
        return self.check == self.second

    @property
    def reason(self) -> str:
        """The figures of both, in one sentence."""
        if self.second is None:
            return f"SQL counted nothing: {self.problem}"
        if self.ok:
            return f"SQL agrees: {_said(self.second)}"
        return f"the check counted {_said(self.check)}, but SQL {_said(self.second)}"


@contextlib.contextmanager
def judging(runs: Sequence[directories.RunDirectory]) -> Iterator[Any]:
    """Yield a connection to a database with the views of this judge, over the runs.

    A line that is no JSON is left out: the certificate reports damage. Raises UsageError if DuckDB
    is missing or cannot read one of them.
    """
    duckdb = database.require_duckdb()
    with database.connected(second_views.STATEMENTS) as connection:
        for run in runs:
            try:
                for path in run.all_observations():
                    read = functools.partial(_read, connection, run, path)
                    database.interruptible(connection, read)
            except errors.HistoryError as error:
                raise errors.UsageError(
                    f"expected the files of a run in {run.path}: {error}"
                ) from error
            except duckdb.Error as error:
                raise errors.UsageError(
                    f"expected the files of a run in {run.path}, but DuckDB cannot read them: "
                    f"{database.first_paragraph(error)}"
                ) from error
        yield connection


def _read(connection: Any, run: directories.RunDirectory, path: pathlib.Path) -> None:
    connection.execute(second_views.READ, [str(run.path), *_readable(path)])


def _readable(path: pathlib.Path) -> tuple[str, str]:
    """Return the pattern of a journal, and its compression.

    DuckDB would wait for a FIFO, and go by the name: of a path with a question mark only by the
    part before it. Raises HistoryError for a journal that is not to be read.
    """
    with files.open_regular(path) as file:
        if path.suffix != zstd_frames.SUFFIX:
            return exports.exactly(path), "none"
        try:
            zstd_frames.require_bounded(file)
        except zstd_frames.BombError as error:
            raise errors.HistoryError(f"{path.name}: {error}") from error
    return exports.exactly(path), "zstd"


def counts(runs: Sequence[directories.RunDirectory]) -> list[Count]:
    """Return what SQL counts in each run.

    Raises UsageError if DuckDB is missing or cannot read one of them.
    """
    duckdb = database.require_duckdb()
    with judging(runs) as connection:
        try:
            rows = database.interruptible(
                connection, lambda: connection.execute(_COUNTS).fetchall()
            )
        except duckdb.Error as error:
            raise errors.UsageError(f"the holds cannot be folded by SQL: {error}") from error
    found = {run: Count(examined, doubled) for run, examined, doubled in rows}
    return [found.get(str(run.path), Count(0, 0)) for run in runs]


def compare(run: directories.RunDirectory, check: Count) -> Comparison:
    """Return the counts of both judges. Raises UsageError without DuckDB."""
    database.require_duckdb()
    try:
        return Comparison(check, counts([run])[0])
    except errors.UsageError as error:
        return Comparison(check, None, str(error))


def _said(counted: Count) -> str:
    are_many = counted.doubled > counted.examined
    meant = " (pairs of claims that held one device at the same time)" if are_many else ""
    return f"{counted.doubled:,} double allocations{meant} among {counted.examined:,} allocations"
