"""The result of a campaign as one document: results.json, and what `hunt --output json` prints."""

import pathlib
from collections.abc import Sequence

import msgspec

from harness.campaign import (
    budgets,
    campaign_plan,
    endings,
    results,
    sentences,
    sequential_stopping,
)
from harness.campaign.endings import Ending
from harness.campaign.programs import tested_programs
from harness.campaign.purposes import Purpose
from harness.checks import verdicts
from harness.statistics import rates
from harness.statistics.confidence_sequences import Answer

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

    With `until_decided`, runs of subjects that were decided earlier were not made. With `minutes`,
    more are planned than the time can have.
    """
    minutes: float = 0
    """Time budget; 0: there was none."""
    notes: list[str] = []
    """Sentences that say which runs were left out on purpose, which kinds of runs the campaign did
    not come to, and which runs were cut."""
    until_decided: str = ""
    """The question that ended the runs of each subject, such as `0.01@0.95`; empty: none did."""
    decisions: list[sequential_stopping.Decision] = []
    """Its answers; one that is not decided makes a VALID campaign UNKNOWN."""
    problems: list[str] = []
    """All that a merge of shards could not count; one makes a VALID campaign UNKNOWN."""
    rows: list[Row]

    @property
    def answers(self) -> list[str]:
        """The decisions, each in a sentence that names scenario and subject."""
        return [f"{item.scenario}, {item.subject}: {item.text}" for item in self.decisions]

    @property
    def sentences(self) -> list[str]:
        """The answers and notes, and what a test left out and did not try."""
        program = self.program
        return [*self.answers, *self.notes, *(program.sentences if program else ())]

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
    needed = len(plan.runs) - len(sequential_stopping.not_needed(plan, found))
    decided = sequential_stopping.decisions(plan, found)
    can_end = plan.minutes or ending is Ending.FIRST
    code = results.exit_code(table, 0 if can_end else needed)
    is_broken = code in results.ERRORS
    verdict = results.verdict(table)
    is_partial = bool(problems or left) or ending is Ending.FIRST
    if is_partial or any(item.answer is Answer.UNDECIDED for item in decided):
        verdict = verdicts.worst([verdict, verdicts.Verdict.UNKNOWN])
        code = code if is_broken else verdict.exit_code
    return CampaignDocument(
        seed=plan.seed,
        verdict="ERROR" if is_broken else str(verdict),
        exit_code=code,
        summary="; ".join(
            [
                sentences.of_table(table, plan.program.title if plan.program else ""),
                *_answers(decided),
                *_counted(problems),
                *(plan.program.counted if plan.program else ()),
                *budgets.summary(left, plan, ending=ending, not_made=endings.not_made(plan, found)),
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
        until_decided=plan.until_decided,
        decisions=decided,
        problems=list(problems),
        rows=[_row(row) for row in table],
    )


def _answers(decided: Sequence[sequential_stopping.Decision]) -> list[str]:
    """Return in one text how many subjects have which answer; nothing without a question."""
    if not decided:
        return []
    found = [item.answer for item in decided]
    limit = f"{decided[0].limit * 100:g} %"
    parts = (
        f"{found.count(Answer.BELOW)} below {limit}",
        f"{found.count(Answer.AT_LEAST)} at least {limit}",
        f"{found.count(Answer.UNDECIDED)} not decided",
    )
    return [f"rates of INVALID: {', '.join(parts)}"]


def _counted(problems: Sequence[str]) -> list[str]:
    return [verdicts.counted(len(problems), "problem") + " of the shards"] if problems else []


def _row(row: results.Row) -> Row:
    made = [run.verdict for run in row.runs]
    invalid = made.count(verdicts.Verdict.INVALID)
    found = rates.Rate(invalid, invalid + made.count(verdicts.Verdict.VALID))
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
