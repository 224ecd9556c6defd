"""The result of a campaign as one document: results.json, and what `hunt --output json` prints."""

import os
import pathlib
import shlex
from collections.abc import Iterator, Sequence

import msgspec

from harness.campaign import (
    budgets,
    campaign_plan,
    campaign_thresholds,
    endings,
    results,
    sentences,
)
from harness.campaign.endings import Ending
from harness.campaign.programs import tested_programs
from harness.campaign.purposes import Purpose
from harness.checks import threshold_results, verdicts

SCHEMA_VERSION = 2


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """All runs of one scenario with one subject."""

    scenario: str
    subject: str
    purpose: Purpose
    hypothesis: str
    """Name of the hazard, such as `H1`; empty if the scenario has none."""
    is_as_expected: bool
    verdict: verdicts.Verdict
    """The worst one."""
    caught: int
    claims: int
    double_allocations: int
    stuck: int
    seconds: float
    invalid: int
    """Runs with a violation; those that only did not meet thresholds are not counted."""
    conclusive: int
    """Runs that are VALID or INVALID."""
    low: float
    high: float
    """Exact 95 % interval of the rate of INVALID among them; 0 to 1 if there are none."""
    runs: list[results.RunResult]


class CampaignDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A campaign that has ended."""

    schema: int = SCHEMA_VERSION
    seed: int
    verdict: str
    """`VALID`, `INVALID`, `UNKNOWN`, or `ERROR` for a harness error."""
    exit_code: int
    summary: str
    """One sentence: what was found of the tested program, in how many runs."""
    program: tested_programs.TestedProgram | None = None
    """The program of a test; None: a hunt."""
    directory: str
    started: str
    """Time in UTC, `2026-01-31T23:59:59Z`; empty if it is not known."""
    command: list[str]
    """Arguments of `flake-hunt` that repeat it; empty if they are not known."""
    cluster: str
    """Name of the cluster profile."""
    versions: dict[str, str]
    """Versions of Flake Hunt, its libraries and the tested schedulers."""
    jobs: int = 0
    """Number of runs that were made at once; 0 if it is not known."""
    planned: int
    """Number of planned runs; further attempts of controls are not planned.

    With `minutes`, more are planned than the time can have.
    """
    minutes: float = 0
    """Time budget; 0: there was none."""
    notes: list[str] = []
    """Sentences that say which runs were left out on purpose, which kinds of runs the campaign did
    not come to, and which runs were cut."""
    next: str = ""
    """The command that is likely to give an answer; empty: there is one, or no such command."""
    thresholds: list[campaign_thresholds.Result] = []
    """The answers of the thresholds per campaign."""
    problems: list[str] = []
    """All that a merge of shards could not count; one makes a VALID campaign UNKNOWN."""
    rows: list[Row]

    @property
    def sentences(self) -> list[str]:
        """The answers of thresholds, the notes, what a test left out, and what is next."""
        left_out = self.program.sentences if self.program else ()
        bounds = (item.told for item in self.thresholds)
        following = [f"next: {self.next}"] * bool(self.next)
        return [*bounds, *self.notes, *left_out, *following]

    @property
    def headline(self) -> str:
        """The verdict and its figures."""
        return f"{self.verdict} {self.summary}"


def document(
    table: Sequence[results.Row],
    plan: campaign_plan.CampaignPlan,
    folder: pathlib.Path,
    problems: Sequence[str] = (),
    *,
    cut: Sequence[results.RunResult] = (),
    ending: Ending = Ending.NONE,
) -> CampaignDocument:
    """Return the document of a campaign; `problems` are those of a merge.

    `cut`: the runs that count nowhere. `ending`: why it did not make all runs.
    """
    found = [run for row in table for run in row.runs]
    left = budgets.unexamined(plan, table, ending)
    can_end = plan.minutes or ending is Ending.FIRST
    code = results.exit_code(table, 0 if can_end else len(plan.runs))
    bounds = campaign_thresholds.judged(plan, table)
    of_bounds = threshold_results.worst(bounds)
    is_broken = code in results.ERRORS and of_bounds is not verdicts.Verdict.INVALID
    verdict = verdicts.worst([results.verdict(table), of_bounds])
    is_short = any(map(budgets.decides, left))
    if problems or is_short or ending is Ending.FIRST:
        verdict = verdicts.worst([verdict, verdicts.Verdict.UNKNOWN])
    code = code if is_broken else verdict.exit_code
    minutes = budgets.minutes_that_do(plan, found) if is_short and not ending else 0
    failed = is_short or any(not row.is_as_expected for row in table)
    is_open = verdict is verdicts.Verdict.UNKNOWN and failed
    return CampaignDocument(
        seed=plan.seed,
        verdict="ERROR" if is_broken else str(verdict),
        exit_code=code,
        summary="; ".join(
            [
                sentences.of_table(
                    table,
                    plan.program.title if plan.program else "",
                    ends_at_first=plan.exit_first,
                ),
                *_bounds(table, bounds),
                *_counted(problems),
                *(plan.program.counted if plan.program else ()),
                *budgets.summary(
                    left, plan, minutes, ending=ending, not_made=endings.not_made(plan, found)
                ),
            ]
        ),
        program=plan.program,
        directory=str(folder.resolve()),
        started=plan.started,
        command=plan.again,
        cluster=str(plan.cluster.get("name", "")),
        versions=plan.versions,
        jobs=plan.jobs,
        planned=len(plan.runs),
        minutes=plan.minutes,
        notes=[*plan.selection, *budgets.notes(left, cut)],
        next=_next(plan, minutes) if is_open and not is_broken else "",
        thresholds=bounds,
        problems=list(problems),
        rows=[_row(row) for row in table],
    )


def _next(plan: campaign_plan.CampaignPlan, minutes: int) -> str:
    """Return the command with another budget, or (0) the one that makes what failed again."""
    failed = ["hunt", "--last-failed", "--reports", os.path.relpath(plan.reports or ".")]
    words = plan.again if minutes and plan.again else failed
    end = words.index("--") if "--" in words else len(words)
    budget = ["--minutes", str(minutes)] * bool(minutes)  # of several, the last one counts
    return shlex.join(["flake-hunt", *words[:end], *budget, *words[end:]])


def _bounds(
    table: Sequence[results.Row], found: Sequence[campaign_thresholds.Result]
) -> Iterator[str]:
    """Yield in how many runs thresholds were not met, and those of the campaign that were not."""
    tested = [run for row in table if not row.purpose.must_fail for run in row.runs]
    if missed := sum(bool(run.thresholds) for run in tested):
        yield f"thresholds not met in {missed} of {verdicts.counted(len(tested), 'run')}"
    for verdict, words in _NOT_MET.items():
        of_it = [item.metric for item in found if item.verdict is verdict]
        if of_it:
            yield f"{words}: {', '.join(dict.fromkeys(of_it))}"
    if found and threshold_results.worst(found) is verdicts.Verdict.VALID:
        yield f"{verdicts.counted(len(found), 'threshold')} of the campaign met"


_NOT_MET = {
    verdicts.Verdict.INVALID: "thresholds of the campaign not met",
    verdicts.Verdict.UNKNOWN: "thresholds of the campaign without an answer",
}


def _counted(problems: Sequence[str]) -> list[str]:
    return [verdicts.counted(len(problems), "problem") + " of the shards"] if problems else []


def _row(row: results.Row) -> Row:
    found = results.rate(row.runs)
    low, high = found.interval
    return Row(
        scenario=row.scenario,
        subject=row.subject,
        purpose=row.purpose,
        hypothesis=row.hypothesis,
        is_as_expected=row.is_as_expected,
        verdict=row.verdict,
        caught=row.caught,
        claims=row.claims,
        double_allocations=row.double_allocations,
        stuck=row.stuck,
        seconds=row.seconds,
        invalid=found.failed,
        conclusive=found.runs,
        low=low,
        high=high,
        runs=list(row.runs),
    )
