"""The results of a campaign: the rows of its table, its verdict and its exit code."""

import dataclasses
import itertools
from collections.abc import Iterable, Sequence

import msgspec

from harness import errors, rates
from harness.campaign.purposes import Purpose
from harness.checks import device_exclusivity, verdicts
from harness.scenario import hazards

HARNESS_ERROR = 1
"""Exit code for an internal error."""
USAGE_ERROR = errors.UsageError.exit_code
ERRORS = (HARNESS_ERROR, USAGE_ERROR)


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
    seconds: float
    """Duration of the run, in seconds."""
    directory: str = ""
    """The run directory; empty: the run could not be executed."""
    verdict: verdicts.Verdict | None = None
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
        """The kind of the run."""
        return self.purpose, self.scenario, self.subject, self.hypothesis

    @property
    def breaks(self) -> int:
        """The number of violations, of all guarantees."""
        return self.double_allocations + self.stuck + self.others

    @property
    def is_conclusive(self) -> bool:
        """True if it is VALID or INVALID."""
        return self.verdict in (verdicts.Verdict.VALID, verdicts.Verdict.INVALID)

    @property
    def is_about_exclusivity(self) -> bool:
        """True if it is conclusive and examined whether claims held one device at once."""
        return self.is_conclusive and device_exclusivity.CHECK.name not in self.unexamined

    @property
    def is_violated(self) -> bool:
        """True if a guarantee is violated, and not only thresholds are not met."""
        is_invalid = self.verdict is verdicts.Verdict.INVALID
        return is_invalid and (self.breaks > 0 or not self.thresholds)

    @property
    def is_against_subject(self) -> bool:
        """True if it is INVALID and should not be."""
        return self.verdict is verdicts.Verdict.INVALID and not self.purpose.is_sought

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
        by_itself = self.by_one_scheduler > 0 and not hazards.is_of_one_scheduler(self.hypothesis)
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
        return self.verdict is verdicts.Verdict.VALID

    @property
    def is_missed(self) -> bool:
        """True if it did not find what it must find: a known defect or hazard."""
        was_made = not (self.error or self.missing or self.cut)
        return self.purpose.must_fail and was_made and not self.is_found

    @property
    def is_tried_again(self) -> bool:
        """True if another attempt follows."""
        return self.is_missed and self.attempt + 1 < self.purpose.attempts


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """All runs of one scenario with one subject."""

    scenario: str
    subject: str
    purpose: Purpose
    hypothesis: str
    runs: tuple[RunResult, ...]

    @property
    def caught(self) -> int:
        """The number of runs in which a violation was found."""
        return sum(run.is_found for run in self.runs)

    @property
    def claims(self) -> int:
        """The number of claims in all runs."""
        return sum(run.claims for run in self.runs)

    @property
    def double_allocations(self) -> int:
        """The number of double allocations in all runs."""
        return sum(run.double_allocations for run in self.runs)

    @property
    def breaks(self) -> int:
        """The number of violations in all runs."""
        return sum(run.breaks for run in self.runs)

    @property
    def stuck(self) -> int:
        """The number of stuck objects in all runs."""
        return sum(run.stuck for run in self.runs)

    @property
    def seconds(self) -> float:
        """The total duration of all runs, in seconds."""
        return sum(run.seconds for run in self.runs)

    @property
    def errors(self) -> list[str]:
        """The reasons why runs could not be executed."""
        return [run.error for run in self.runs if run.error]

    @property
    def missing(self) -> int:
        """The number of planned runs without a result."""
        return sum(run.missing for run in self.runs)

    @property
    def verdict(self) -> verdicts.Verdict:
        """The worst verdict of the runs: INVALID if a violation was found at least once.

        A run without a verdict is UNKNOWN.
        """
        return verdicts.worst(run.verdict or verdicts.Verdict.UNKNOWN for run in self.runs)

    @property
    def has_regression(self) -> bool:
        """True if a run failed in another way than the hazard explains."""
        return any(run.is_regression for run in self.runs)

    @property
    def is_as_expected(self) -> bool:
        """True if every run is VALID that should be, and what must be found was found once.

        A run with an error is never as expected, nor is one without a result.
        """
        is_found = self.caught > 0 or not self.purpose.must_fail
        is_known = is_found and not self.has_regression
        is_whole = not self.errors and not self.missing
        if self.purpose is Purpose.ASKED and self.caught:
            return is_known and is_whole
        return self.verdict is self.purpose.expected and is_known and is_whole


def in_plan_order(results: Iterable[RunResult]) -> list[RunResult]:
    """Return the results in the order of the plan, and attempts in theirs.

    Results come in another order whenever runs are made at the same time.
    """
    return sorted(results, key=lambda result: (result.number, result.attempt))


def rows(results: Iterable[RunResult]) -> list[Row]:
    """Return one row for each purpose, scenario and subject, in the order of the purposes.

    Runs that were cut are left out.
    """
    ordered = sorted((result for result in results if not result.cut), key=_row_key)
    return [
        Row(scenario, subject, list(Purpose)[order], hypothesis, tuple(group))
        for (order, scenario, subject, hypothesis), group in itertools.groupby(
            ordered, key=_row_key
        )
    ]


def _row_key(result: RunResult) -> tuple[int, str, str, str]:
    order = list(Purpose).index(result.purpose)
    return order, result.scenario, result.subject, result.hypothesis


def rate(runs: Iterable[RunResult]) -> rates.Rate:
    """Return the rate of runs with a violation among those that are VALID or INVALID."""
    made = [run for run in runs if run.is_conclusive]
    return rates.Rate(sum(run.is_violated for run in made), len(made))


def worst_of_subject(results: Iterable[RunResult]) -> RunResult | None:
    """Return the worst run of the tested subject that has a directory: the one to look at first.

    None if there is none: controls and hazards are not about the subject, and fail as they should.
    """
    tested = (run for run in results if run.purpose is Purpose.SUBJECT and run.directory)
    return max(tested, key=_badness, default=None)


def _badness(run: RunResult) -> tuple[int, int]:
    verdict = run.verdict or verdicts.Verdict.UNKNOWN
    return list(verdicts.Verdict).index(verdict), run.breaks


def of_purpose(table: Iterable[Row], purpose: Purpose) -> list[Row]:
    """Return the rows of one purpose."""
    return [row for row in table if row.purpose is purpose]


def verdict(table: Sequence[Row]) -> verdicts.Verdict:
    """Return the verdict on the subject, with and without remedies.

    INVALID also if a run with a known hazard failed in another way. UNKNOWN if a control was not
    caught or a hazard not shown: it is not known then whether other defects would have been found;
    if no run of the subject has examined exclusivity; and without any run.
    """
    of_subject = [
        row.verdict
        for row in table
        if row.has_regression or not (row.purpose.must_fail or row.purpose.is_of_hazard)
    ]
    missed = [
        verdicts.Verdict.UNKNOWN
        for row in table
        if row.purpose.must_fail and not row.is_as_expected
    ]
    tested = [run for row in of_purpose(table, Purpose.SUBJECT) for run in row.runs]
    if tested and not any(run.is_about_exclusivity for run in tested):
        missed.append(verdicts.Verdict.UNKNOWN)
    if table and not of_subject and not missed:
        return verdicts.Verdict.VALID  # only controls and hazards, and all were found
    return verdicts.worst([*of_subject, *missed])


def exit_code(table: Sequence[Row], planned: int) -> int:
    """Return the campaign's exit code: INVALID, else harness error, else UNKNOWN, else VALID.

    A run that has not even a first attempt (fewer than `planned`) is a harness error. If all errors
    are of usage, so is the campaign's.
    """
    overall = verdict(table)
    runs = [run for row in table for run in row.runs]
    is_whole = sum(run.attempt == 0 for run in runs) >= planned
    failed = [run for run in runs if run.error]
    if overall is verdicts.Verdict.INVALID or (is_whole and not failed):
        return overall.exit_code
    is_usage = is_whole and all(run.is_usage_error for run in failed)
    return USAGE_ERROR if is_usage else HARNESS_ERROR
