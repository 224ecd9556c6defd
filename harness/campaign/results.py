"""The results of a campaign: the rows of its table, its verdict and its exit code."""

import dataclasses
import itertools
from collections.abc import Iterable, Sequence

import msgspec

from harness.checks import verdicts

HARNESS_ERROR = 1
"""Exit code for an internal error."""


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one run."""

    scenario: str
    subject: str
    is_control: bool
    seconds: float
    """Duration of the run, in seconds."""
    directory: str = ""
    """The run directory; empty: the run could not be executed."""
    verdict: verdicts.Verdict | None = None
    """None: the run could not be executed."""
    reason: str = ""
    claims: int = 0
    double_allocations: int = 0
    error: str = ""
    """Why the run could not be executed; empty: it was."""
    attempt: int = 0
    """Number of earlier attempts that missed the same positive control."""

    @property
    def is_missed(self) -> bool:
        """True if it is a positive control whose defect was not found."""
        is_caught = self.verdict is verdicts.Verdict.INVALID
        return self.is_control and not self.error and not is_caught


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """All runs of one scenario with one subject."""

    scenario: str
    subject: str
    is_control: bool
    runs: tuple[RunResult, ...]

    @property
    def caught(self) -> int:
        """The number of runs in which a double allocation was found."""
        return sum(run.verdict is verdicts.Verdict.INVALID for run in self.runs)

    @property
    def claims(self) -> int:
        """The number of claims in all runs."""
        return sum(run.claims for run in self.runs)

    @property
    def double_allocations(self) -> int:
        """The number of double allocations in all runs."""
        return sum(run.double_allocations for run in self.runs)

    @property
    def seconds(self) -> float:
        """The total duration of all runs, in seconds."""
        return sum(run.seconds for run in self.runs)

    @property
    def errors(self) -> list[str]:
        """The reasons why runs could not be executed."""
        return [run.error for run in self.runs if run.error]

    @property
    def verdict(self) -> verdicts.Verdict:
        """The worst verdict of the runs; INVALID for a control that was caught at least once."""
        known = [run.verdict for run in self.runs if run.verdict is not None]
        return verdicts.worst(known)

    @property
    def is_as_expected(self) -> bool:
        """True if the correct subject is VALID in every run, or a control was caught.

        A run with an error is never as expected.
        """
        expected = verdicts.Verdict.INVALID if self.is_control else verdicts.Verdict.VALID
        return self.verdict is expected and not self.errors


def rows(results: Iterable[RunResult]) -> list[Row]:
    """Return one row for each scenario and subject; the correct subject comes first."""
    ordered = sorted(results, key=_row_key)
    return [
        Row(scenario, subject, is_control, tuple(group))
        for (scenario, is_control, subject), group in itertools.groupby(ordered, key=_row_key)
    ]


def _row_key(result: RunResult) -> tuple[str, bool, str]:
    return result.scenario, result.is_control, result.subject


def verdict(table: Sequence[Row]) -> verdicts.Verdict:
    """Return the verdict on the correct subject; UNKNOWN if a control was not caught.

    After a missed control it is not known whether other defects would have been found.
    """
    of_subject = [row.verdict for row in table if not row.is_control]
    missed = [
        verdicts.Verdict.UNKNOWN for row in table if row.is_control and not row.is_as_expected
    ]
    if not of_subject and not missed:
        return verdicts.Verdict.VALID  # the campaign has only controls, and all were caught
    return verdicts.worst([*of_subject, *missed])


def exit_code(table: Sequence[Row], planned: int) -> int:
    """Return the campaign's exit code: INVALID, else harness error, else UNKNOWN, else VALID.

    A missing run (fewer than `planned`) is a harness error.
    """
    overall = verdict(table)
    broken = any(row.errors for row in table) or sum(len(row.runs) for row in table) < planned
    if overall is not verdicts.Verdict.INVALID and broken:
        return HARNESS_ERROR
    return overall.exit_code
