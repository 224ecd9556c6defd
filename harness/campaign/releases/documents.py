"""The table of releases as one document: releases.json."""

import pathlib
from collections import Counter
from collections.abc import Sequence
from typing import Literal

import msgspec

from harness import clocks
from harness.campaign.releases import answers, cells, ledgers, programs, questions
from harness.run import run_plan
from harness.statistics import rates

NAME = "releases.json"
SCHEMA_VERSION = 1
DECIDED, UNDECIDED = 0, 20
"""Exit codes."""
State = Literal["shown", "not shown", "not possible", "undecided"]


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a cell."""

    answer: answers.Word
    reason: str
    """The violation, or why nothing is decided."""
    directory: str
    """The run directory, relative to the folder of the document."""
    seconds: float
    made: str
    """Time of its end in UTC, `2026-01-31T23:59:59Z`."""
    commit: str
    """Commit of the harness."""


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """A finding in one release."""

    finding: str
    scenario: str
    program: programs.Program
    version: str
    state: State
    reason: str
    """Why it is not possible or undecided; else the violation, or what else was found."""
    shown: int
    decided: int
    """Runs that showed it, or could have and did not."""
    low: float
    high: float
    """Exact 95 % interval of the rate of `shown`; 0 to 1 if no run decided."""
    others: dict[str, int]
    """Check -> number of runs in which it found something else."""
    runs: list[Run]


class ReleasesDocument(msgspec.Struct, frozen=True, kw_only=True):
    """All questions, and the answers of every release."""

    schema: int = SCHEMA_VERSION
    exit_code: int
    ended: str
    """Time in UTC."""
    cluster: str
    """Name of the cluster profile."""
    repeat: int
    """Number of runs that each cell should have."""
    versions: dict[str, str]
    """Versions of Flake Hunt, its libraries and the platform."""
    releases: list[programs.Release]
    findings: list[questions.Question]
    cells: list[Cell]
    unasked: list[questions.LeftOut]
    """Findings about which no release is asked."""
    planned: int
    """Number of runs that the cells should have."""
    made: int

    @property
    def summary(self) -> str:
        """The figures in one sentence."""
        found = Counter(cell.state for cell in self.cells)
        order: tuple[State, ...] = ("shown", "not shown", "not possible", "undecided")
        counts = ", ".join(f"{found[state]} {state}" for state in order)
        return f"{len(self.cells)} cells: {counts}; {self.made} of {self.planned} runs made"


def document(
    asked: Sequence[cells.Cell],
    ledger: ledgers.Ledger,
    *,
    folder: pathlib.Path,
    cluster: str,
    repeat: int,
    is_whole: bool,
) -> ReleasesDocument:
    """Return the document of these cells; `folder` is its own.

    `is_whole`: all findings were asked about, so that those are named about which none can be.
    """
    found = [_cell(cell, ledger, folder.resolve()) for cell in asked]
    possible = [cell for cell in asked if not cell.impossible]
    is_decided = all(cell.state != "undecided" for cell in found)
    return ReleasesDocument(
        exit_code=DECIDED if is_decided else UNDECIDED,
        ended=clocks.wall_text(),
        cluster=cluster,
        repeat=repeat,
        versions=run_plan.versions(),
        releases=list({cell.release.name: cell.release for cell in asked}.values()),
        findings=list(
            {
                cell.question.scenario + cell.question.program: cell.question for cell in asked
            }.values()
        ),
        cells=found,
        unasked=questions.left_out() if is_whole else [],
        planned=repeat * len(possible),
        made=sum(min(len(cell.runs), repeat) for cell in found),
    )


def _cell(cell: cells.Cell, ledger: ledgers.Ledger, folder: pathlib.Path) -> Cell:
    made = ledger.of(cell.key)
    told = [answers.of_run(item.result, cell.question.checks) for item in made]
    words = Counter(answer.word for answer in told)
    rate = rates.Rate(words["shown"], words["shown"] + words["not shown"])
    low, high = rate.interval
    state = _state(cell, rate)
    return Cell(
        finding=cell.question.finding,
        scenario=cell.question.scenario,
        program=cell.release.program,
        version=cell.release.version,
        state=state,
        reason=cell.impossible or _reason(state, told, ledger.errors_of(cell.key)),
        shown=rate.failed,
        decided=rate.runs,
        low=low,
        high=high,
        others=dict(Counter(name for answer in told for name in answer.others)),
        runs=[_run(*item, folder) for item in zip(made, told, strict=True)],
    )


def _state(cell: cells.Cell, rate: rates.Rate) -> State:
    if cell.impossible:
        return "not possible"
    if not rate.runs:
        return "undecided"
    return "shown" if rate.failed else "not shown"


def _reason(state: State, told: Sequence[answers.Answer], broken: Sequence[ledgers.MadeRun]) -> str:
    """Return the first reason of a run with the answer of the cell."""
    reasons = [answer.reason for answer in told if answer.word == state and answer.reason]
    errors = [made.result.error for made in broken[-1:]] if state == "undecided" else []
    nothing = "no run was made" if state == "undecided" else ""
    return next(iter([*reasons, *errors]), nothing)


def _run(made: ledgers.MadeRun, answer: answers.Answer, folder: pathlib.Path) -> Run:
    return Run(
        answer=answer.word,
        reason=answer.reason,
        directory=str(pathlib.Path(made.result.directory).relative_to(folder)),
        seconds=round(made.result.seconds, 1),
        made=made.made,
        commit=made.commit,
    )
