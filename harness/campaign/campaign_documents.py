"""The result of a campaign as one document: results.json, and what `hunt --output json` prints."""

import math
import os
import pathlib
import shlex
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from harness import errors
from harness.campaign import budgets, campaign_plan, sentences
from harness.campaign.budgets import Ending
from harness.campaign.programs import tested_programs
from harness.checks import threshold_results, verdicts
from harness.history import plans, results
from harness.history.purposes import Purpose
from harness.model import figures
from harness.scenario import threshold_specs

SCHEMA_VERSION = 2
HARNESS_ERROR = 1
USAGE_ERROR = errors.UsageError.exit_code
ERRORS = (HARNESS_ERROR, USAGE_ERROR)


class ThresholdResult(threshold_results.Result, frozen=True, kw_only=True):
    """The answer of a threshold about all runs of a scenario with a subject."""

    scenario: str
    subject: str

    @property
    def place(self) -> str:
        return f"{self.scenario} ({self.subject})"

    @property
    def told(self) -> str:
        return f"{self.scenario}, {self.subject}: {self.sentence}"


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
    versions: dict[str, str]
    """Versions of Flake Hunt, its libraries and the tested schedulers."""
    jobs: int = 0
    """Number of runs that were made at once; 0 if it is not known."""
    planned: int
    """Number of planned runs; further attempts of controls are not planned.

    With `minutes`, more are planned than the time can have.
    """
    minutes: float = 0.0
    """Time budget; 0: there was none."""
    notes: list[str] = []
    """Sentences that say which runs were left out on purpose, which kinds of runs the campaign did
    not come to, and which runs were cut."""
    next: str = ""
    """The command that is likely to give an answer; empty: there is one, or no such command."""
    thresholds: list[ThresholdResult] = []
    problems: list[str] = []
    """All that a merge of shards could not count; one makes a VALID campaign UNKNOWN."""
    rows: list[results.Row]

    @property
    def sentences(self) -> list[str]:
        left_out = self.program.sentences if self.program else ()
        bounds = (item.told for item in self.thresholds)
        following = [f"next: {self.next}"] * bool(self.next)
        return [*bounds, *self.notes, *left_out, *following]

    @property
    def headline(self) -> str:
        return f"{self.verdict} {self.summary}"


def document(
    found: Sequence[results.RunResult],
    plan: campaign_plan.CampaignPlan,
    folder: pathlib.Path,
    problems: Sequence[str] = (),
    *,
    ending: Ending = Ending.NONE,
) -> CampaignDocument:
    """Return the document; `problems` are those of a merge, `ending` is why runs are missing."""
    table = results.rows(found)
    left = budgets.unexamined(plan, table, ending)
    can_end = plan.minutes or ending is Ending.FIRST
    code = exit_code(table, 0 if can_end else len(plan.runs))
    bounds = thresholds_judged(plan, table)
    of_bounds = threshold_results.worst(bounds)
    is_broken = code in ERRORS and of_bounds is not verdicts.Verdict.INVALID
    is_short = any(map(budgets.decides, left))
    is_part = bool(problems) or is_short or ending is Ending.FIRST
    at_best = verdicts.Verdict.UNKNOWN if is_part else verdicts.Verdict.VALID
    overall = verdicts.worst([verdict(table), of_bounds, at_best])
    minutes = budgets.minutes_that_do(plan, found) if is_short and not ending else 0
    failed = is_short or any(not row.is_as_expected for row in table)
    is_open = overall is verdicts.Verdict.UNKNOWN and failed
    program = plan.program.title if plan.program else ""
    return CampaignDocument(
        seed=plan.seed,
        verdict="ERROR" if is_broken else str(overall),
        exit_code=code if is_broken else overall.exit_code,
        summary="; ".join(
            [
                sentences.of_table(table, program, ends_at_first=plan.exit_first),
                *_bounds(table, bounds),
                *([f"{verdicts.counted(len(problems), 'problem')} of the shards"] * bool(problems)),
                *(plan.program.counted if plan.program else ()),
                *budgets.summary(left, plan, found, minutes, ending=ending),
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
        notes=[*plan.selection, *budgets.notes(left, found)],
        next=_next(plan, minutes) if is_open and not is_broken else "",
        thresholds=bounds,
        problems=list(problems),
        rows=table,
    )


def verdict(table: Sequence[results.Row]) -> verdicts.Verdict:
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
    missed = [row for row in table if row.purpose.must_fail and not row.is_as_expected]
    tested = [run for row in results.of_purpose(table, Purpose.SUBJECT) for run in row.runs]
    is_blind = bool(tested) and not any(run.is_about_exclusivity for run in tested)
    if missed or is_blind:
        return verdicts.worst([*of_subject, verdicts.Verdict.UNKNOWN])
    if table and not of_subject:
        return verdicts.Verdict.VALID  # only controls and hazards, and all were found
    return verdicts.worst(of_subject)


def exit_code(table: Sequence[results.Row], planned: int) -> int:
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


def _next(plan: campaign_plan.CampaignPlan, minutes: int) -> str:
    failed = ["hunt", "--last-failed", "--reports", os.path.relpath(plan.reports or ".")]
    words = plan.again if minutes and plan.again else failed
    end = words.index("--") if "--" in words else len(words)
    budget = ["--minutes", str(minutes)] * bool(minutes)  # of several, the last one counts
    return shlex.join(["flake-hunt", *words[:end], *budget, *words[end:]])


def _bounds(table: Sequence[results.Row], found: Sequence[ThresholdResult]) -> Iterator[str]:
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


# -------------------------------------------------------------------- thresholds per campaign
# All runs of a scenario with the tested subject are judged together; controls, hazards and
# remedies have no part. A planned run has them as options have them.


def thresholds_judged(
    plan: campaign_plan.CampaignPlan, table: Iterable[results.Row]
) -> list[ThresholdResult]:
    """Return the answers about each scenario and subject that was to be tested."""
    made = {
        (row.scenario, row.subject): row.runs for row in results.of_purpose(table, Purpose.SUBJECT)
    }
    asked = {
        (run.title, run.subject): run.thresholds
        for run in plan.runs
        if run.purpose is Purpose.SUBJECT and not plan.is_part
    }
    judged = []
    for (scenario, subject), texts in asked.items():
        for spec in threshold_specs.with_options((), texts):
            threshold = plans.Threshold(**spec.model_dump())
            if threshold.per == "campaign":
                measured = _measured(threshold.metric, made.get((scenario, subject), []))
                found = msgspec.structs.asdict(threshold_results.judged(threshold, *measured))
                judged.append(ThresholdResult(**found, scenario=scenario, subject=subject))
    return judged


def _measured(metric: str, runs: Sequence[results.RunResult]) -> tuple[float | None, str]:
    """Return the figure of all runs, or None and what is missing."""
    figure = figures.FIGURES[metric]
    if not figure.is_of_runs:
        return _rate(figure, runs)
    values = [value for run in runs if (value := run.figures.get(metric)) is not None]
    if not runs:
        return None, "it needs runs of the tested subject, and there are none"
    if len(values) < len(runs):
        lacking = len(runs) - len(values)
        return None, f"{lacking} of {verdicts.counted(len(runs), 'run')} cannot say it"
    return round(figure.of_campaign(values), 6), ""


def _rate(figure: figures.Figure, runs: Sequence[results.RunResult]) -> tuple[float | None, str]:
    rate = results.rate(runs)
    if not rate.runs:
        return None, f"it needs {figure.needs}, and there are none"
    high = math.ceil(round(rate.interval[1] * 1e6, 3)) / 1e6
    return {"invalid_rate": round(rate.share, 6)}.get(figure.name, high), ""
