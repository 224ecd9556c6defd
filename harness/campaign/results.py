"""What the runs of a campaign come to: rows of the closing table, and the campaign's verdict."""

import dataclasses
import itertools
from collections.abc import Iterable, Sequence

import msgspec

from harness.checks import verdicts

HARNESS_ERROR = 1


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one run came to; `error` when it could not be made."""

    scenario: str
    subject: str
    is_control: bool
    seconds: float
    directory: str = ""
    verdict: verdicts.Verdict | None = None
    reason: str = ""
    claims: int = 0
    double_allocations: int = 0
    error: str = ""
    attempt: int = 0
    """Of a positive control: how often it was missed before."""

    @property
    def is_missed(self) -> bool:
        """Whether it is a positive control whose defect was not found."""
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
        """Runs in which a double allocation was found."""
        return sum(run.verdict is verdicts.Verdict.INVALID for run in self.runs)

    @property
    def claims(self) -> int:
        """Claims of all runs."""
        return sum(run.claims for run in self.runs)

    @property
    def double_allocations(self) -> int:
        """Double allocations of all runs."""
        return sum(run.double_allocations for run in self.runs)

    @property
    def seconds(self) -> float:
        """Time of all runs, added up."""
        return sum(run.seconds for run in self.runs)

    @property
    def errors(self) -> list[str]:
        """Why runs could not be made."""
        return [run.error for run in self.runs if run.error]

    @property
    def verdict(self) -> verdicts.Verdict:
        """The worst of its runs; of a control, INVALID when it was caught at all."""
        found = [run.verdict for run in self.runs if run.verdict is not None]
        return verdicts.worst(found)

    @property
    def is_as_expected(self) -> bool:
        """The correct subject valid in every run, a known defect caught."""
        wanted = verdicts.Verdict.INVALID if self.is_control else verdicts.Verdict.VALID
        return self.verdict is wanted and not self.errors


def rows(results: Iterable[RunResult]) -> list[Row]:
    """One row for each scenario and subject, the correct one first."""
    ordered = sorted(results, key=_row_key)
    return [
        Row(scenario, subject, is_control, tuple(group))
        for (scenario, is_control, subject), group in itertools.groupby(ordered, key=_row_key)
    ]


def _row_key(result: RunResult) -> tuple[str, bool, str]:
    return result.scenario, result.is_control, result.subject


def verdict(table: Sequence[Row]) -> verdicts.Verdict:
    """Of the correct subject; UNKNOWN when a control was not caught, for then nothing is known of what was not found either."""
    of_subject = [row.verdict for row in table if not row.is_control]
    missed = [
        verdicts.Verdict.UNKNOWN for row in table if row.is_control and not row.is_as_expected
    ]
    if not of_subject and not missed:
        return verdicts.Verdict.VALID  # only controls were asked for, and all were caught
    return verdicts.worst([*of_subject, *missed])


def exit_code(table: Sequence[Row], planned: int) -> int:
    """Invalid over harness error over unknown over valid; a run that is missing is a harness error."""
    found = verdict(table)
    broken = any(row.errors for row in table) or sum(len(row.runs) for row in table) < planned
    if found is not verdicts.Verdict.INVALID and broken:
        return HARNESS_ERROR
    return found.exit_code
