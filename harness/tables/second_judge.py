"""The second judge of exclusivity: counts double allocations in SQL, to compare with the check.

Both read the same observations and share no code. If they do not agree, one of them is wrong and
the verdict is UNKNOWN, whatever the check says.
"""

import dataclasses
from collections.abc import Sequence

from harness import errors
from harness.history import directories
from harness.tables import database, interrupting

NAME = "second-judge"
_COUNTS = "SELECT run, examined, double_allocations FROM exclusivity"


@dataclasses.dataclass(frozen=True, slots=True)
class Count:
    """The figures of one judge about a run."""

    examined: int
    """Holds that exclude others, and shares of devices that can be shared."""
    doubled: int
    """Pairs of them that overlap though they may not."""


@dataclasses.dataclass(frozen=True, slots=True)
class Comparison:
    """The counts of both judges."""

    check: Count
    """Of the check `device_exclusivity`, from the same observations without any doubt removed."""
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


def counts(runs: Sequence[directories.RunDirectory]) -> list[Count]:
    """Return what SQL counts in each run.

    Raises UsageError if DuckDB is missing or cannot read one of them.
    """
    duckdb = database.require_duckdb()
    with database.opened(runs, ["observed"]) as connection:
        try:
            rows = interrupting.run(connection, lambda: connection.execute(_COUNTS).fetchall())
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
