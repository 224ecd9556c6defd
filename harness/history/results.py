"""The results of a campaign's runs, and the rows of its table.

results.jsonl has a line for each attempt of a run; results.json has the rows.
"""

import itertools
import os
import pathlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from harness import errors
from harness.history import files
from harness.history.purposes import Purpose
from harness.model import answers

if TYPE_CHECKING:
    from harness import rates

FILE = "results.jsonl"
"""The results of the runs, in the order in which they came."""
EXCLUSIVITY = "device_exclusivity"
"""The check of double allocations."""
Kind = tuple[Purpose, str, str, str]
"""Purpose, scenario, subject and hazard: the runs of a row of the table."""


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one run."""

    number: int = 0
    """Number of the planned run, from 1; 0 in results of older versions."""
    scenario: str
    subject: str
    purpose: Purpose = Purpose.SUBJECT
    hypothesis: str = ""
    """Name of the hazard, such as `H1`; empty if the scenario has none."""
    seconds: float = 0.0
    """Duration of the run, in seconds."""
    directory: str = ""
    """The run directory; empty: the run could not be executed."""
    verdict: answers.Verdict | None = None
    """None: the run could not be executed."""
    reason: str = ""
    claims: int = 0
    double_allocations: int = 0
    stuck: int = 0
    """Objects that could go on and did not."""
    consumed_twice: int = 0
    """Times in which shares or counters were consumed beyond what there is."""
    others: int = 0
    """Violations that are neither double allocations nor stuck objects."""
    shows_otherwise: bool = False
    """Its defects show in other ways than by double allocations: those of the claim controller, of
    the kubelets and of the slice tracker."""
    unexamined: list[str] = msgspec.field(default_factory=list)
    """Checks about what the run used that examined nothing, or not all."""
    thresholds: list[str] = msgspec.field(default_factory=list)
    """The thresholds that it did not meet, each in a clause; they are no violations."""
    figures: dict[str, float | None] = msgspec.field(default_factory=dict)
    """Figures that thresholds per campaign ask for, by their names; None: the run cannot say it."""
    by_one_scheduler: int = 0
    """Double allocations of one scheduler by itself, in runs with several schedulers."""
    error: str = ""
    """Why the run could not be executed; empty: it was."""
    is_usage_error: bool = False
    """The error is one of usage or configuration: a subject that ends at once, for example."""
    held_threads: bool = False
    """Threads of its schedulers were held at random."""
    missing: bool = False
    """A planned run without a result, in a campaign merged from shards; `reason` says why."""
    cut: bool = False
    """The time budget, or an interruption, ended the run before it found anything; `reason` says
    which. It counts nowhere."""
    attempt: int = 0
    """Number of earlier attempts that missed the same control or hazard."""

    @property
    def kind(self) -> Kind:
        return self.purpose, self.scenario, self.subject, self.hypothesis

    @property
    def breaks(self) -> int:
        return self.double_allocations + self.stuck + self.others

    @property
    def is_conclusive(self) -> bool:
        return self.verdict in (answers.Verdict.VALID, answers.Verdict.INVALID)

    @property
    def is_about_exclusivity(self) -> bool:
        """True if it is conclusive and examined whether claims held one device at once."""
        return self.is_conclusive and EXCLUSIVITY not in self.unexamined

    @property
    def is_violated(self) -> bool:
        is_invalid = self.verdict is answers.Verdict.INVALID
        return is_invalid and (self.breaks > 0 or not self.thresholds)

    @property
    def is_against_subject(self) -> bool:
        return self.verdict is answers.Verdict.INVALID and not self.purpose.is_sought

    @property
    def is_found(self) -> bool:
        """True if a violation was found; a threshold that was not met is none.

        A run that must fail is known for its double allocations, of devices or of what devices
        share; to be stuck is another failure, unless its defects show in other ways.
        """
        if self.purpose.is_sought and self.shows_otherwise:
            return self.others + self.stuck > 0
        if self.purpose.is_sought:
            return self.double_allocations + self.consumed_twice > 0
        return self.is_violated

    @property
    def is_regression(self) -> bool:
        """True if a known hazard does not explain what was found.

        A hazard of uncoordinated schedulers does not explain what one of them does by itself, and
        of a program that may have it, none explains violations of another kind, or thresholds that
        were not met.
        """
        if not self.purpose.is_of_hazard:
            return False
        by_itself = self.by_one_scheduler > 0 and not _is_of_one_scheduler(self.hypothesis)
        is_other = self.of_other_kinds > 0 or bool(self.thresholds)
        return by_itself or (self.purpose is Purpose.ASKED and is_other)

    @property
    def of_other_kinds(self) -> int:
        """The number of violations that are not of the kind of its hazard."""
        if self.shows_otherwise:
            return self.double_allocations
        return self.others - self.consumed_twice - self.by_one_scheduler + self.stuck

    @property
    def is_as_expected(self) -> bool:
        """True if it is VALID as it should be, or found what it must find and nothing else."""
        if self.purpose.must_fail:
            return self.is_found and not self.is_regression
        if self.purpose is Purpose.ASKED and self.is_found:
            return not self.is_regression
        return self.verdict is answers.Verdict.VALID

    @property
    def is_missed(self) -> bool:
        was_made = not (self.error or self.missing or self.cut)
        return self.purpose.must_fail and was_made and not self.is_found

    @property
    def is_tried_again(self) -> bool:
        return self.is_missed and self.attempt + 1 < self.purpose.attempts


def _is_of_one_scheduler(hypothesis: str) -> bool:
    from harness.scenario import hazards  # loads scenarios: not for lists of campaigns

    return hazards.is_of_one_scheduler(hypothesis)


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """All runs of one scenario with one subject."""

    scenario: str
    subject: str
    purpose: Purpose = Purpose.SUBJECT
    hypothesis: str = ""
    """Name of the hazard, such as `H1`; empty if the scenario has none."""
    is_as_expected: bool = False
    """Every run is VALID that should be, and what must be found was found once.

    A run with an error is never as expected, nor is one without a result.
    """
    verdict: answers.Verdict = answers.Verdict.UNKNOWN
    """The worst one; a run without a verdict is UNKNOWN."""
    caught: int = 0
    """Runs in which a violation was found."""
    claims: int = 0
    double_allocations: int = 0
    stuck: int = 0
    seconds: float = 0.0
    invalid: int = 0
    """Runs with a violation; those that only did not meet thresholds are not counted."""
    conclusive: int = 0
    """Runs that are VALID or INVALID."""
    low: float = 0.0
    high: float = 1.0
    """Exact 95 % interval of the rate of INVALID among them; 0 to 1 if there are none."""
    runs: list[RunResult] = []

    @property
    def kind(self) -> Kind:
        return self.purpose, self.scenario, self.subject, self.hypothesis

    @property
    def breaks(self) -> int:
        return sum(run.breaks for run in self.runs)

    @property
    def errors(self) -> list[str]:
        return [run.error for run in self.runs if run.error]

    @property
    def missing(self) -> int:
        return sum(run.missing for run in self.runs)

    @property
    def has_regression(self) -> bool:
        return any(run.is_regression for run in self.runs)

    @property
    def word(self) -> str:
        return "ERROR" if self.errors and not self.caught else str(self.verdict)


def rows(results: Iterable[RunResult]) -> list[Row]:
    """Return one row for each kind of run, in the order of the purposes, without cut runs."""
    order = list(Purpose)
    ordered = sorted(
        (result for result in results if not result.cut),
        key=lambda result: (order.index(result.purpose), *result.kind[1:]),
    )
    return [
        _row(kind, list(group))
        for kind, group in itertools.groupby(ordered, key=lambda result: result.kind)
    ]


def _row(kind: Kind, runs: list[RunResult]) -> Row:
    purpose, scenario, subject, hypothesis = kind
    found = rate(runs)
    low, high = found.interval
    worst = answers.worst(run.verdict or answers.Verdict.UNKNOWN for run in runs)
    caught = sum(run.is_found for run in runs)
    is_answered = purpose is Purpose.ASKED and caught > 0
    is_known = caught > 0 or not purpose.must_fail
    is_whole = not any(run.error or run.missing or run.is_regression for run in runs)
    return Row(
        scenario=scenario,
        subject=subject,
        purpose=purpose,
        hypothesis=hypothesis,
        is_as_expected=is_known and is_whole and (is_answered or worst is purpose.expected),
        verdict=worst,
        caught=caught,
        claims=sum(run.claims for run in runs),
        double_allocations=sum(run.double_allocations for run in runs),
        stuck=sum(run.stuck for run in runs),
        seconds=sum(run.seconds for run in runs),
        invalid=found.failed,
        conclusive=found.runs,
        low=low,
        high=high,
        runs=runs,
    )


def in_plan_order(results: Iterable[RunResult]) -> list[RunResult]:
    """Return the results in the order of the plan, and attempts in theirs.

    Results come in another order whenever runs are made at the same time.
    """
    return sorted(results, key=lambda result: (result.number, result.attempt))


def rate(runs: Iterable[RunResult]) -> "rates.Rate":
    """Return the rate of runs with a violation among those that are VALID or INVALID."""
    from harness import rates  # imports NumPy: not for lists of campaigns

    made = [run for run in runs if run.is_conclusive]
    return rates.Rate(sum(run.is_violated for run in made), len(made))


def of_purpose(table: Iterable[Row], purpose: Purpose) -> list[Row]:
    return [row for row in table if row.purpose is purpose]


def encode(results: Iterable[RunResult]) -> bytes:
    return b"".join(msgspec.json.encode(result) + b"\n" for result in results)


def decode(content: bytes) -> list[RunResult]:
    """Return the results in whole lines; raise HistoryError if they are damaged."""
    lines = filter(None, content.split(b"\n"))
    try:
        return [files.decoded(line, RunResult) for line in lines]
    except errors.HistoryError as error:
        raise errors.HistoryError(f"{FILE}: expected a result on each line ({error})") from error


def read(folder: pathlib.Path) -> list[RunResult]:
    """Return the results in a campaign's folder, of whole lines; none if it has none yet.

    Raises HistoryError if they are damaged.
    """
    if not os.path.lexists(folder / FILE):
        return []
    return decode(files.read_small(folder / FILE).rpartition(b"\n")[0])
