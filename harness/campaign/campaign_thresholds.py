"""Thresholds per campaign: all runs of a scenario with the tested subject, judged together.

A planned run has them as options have them. Controls, hazards and remedies have no part.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from harness.campaign import campaign_plan
from harness.checks import threshold_results, verdicts
from harness.history import plans, results
from harness.history.purposes import Purpose
from harness.model import figures
from harness.scenario import threshold_specs


class Result(threshold_results.Result, frozen=True, kw_only=True):
    """The answer of a threshold about all runs of a scenario with a subject."""

    scenario: str
    subject: str

    @property
    def place(self) -> str:
        return f"{self.scenario} ({self.subject})"

    @property
    def told(self) -> str:
        return f"{self.scenario}, {self.subject}: {self.sentence}"


def planned(texts: Iterable[str]) -> list[plans.Threshold]:
    """Return the thresholds of options; raise UsageError for what is none."""
    return [
        plans.Threshold(**spec.model_dump())
        for spec in threshold_specs.with_options((), list(texts))
    ]


def judged(plan: campaign_plan.CampaignPlan, table: Iterable[results.Row]) -> list[Result]:
    """Return the answers about each scenario and subject that was to be tested."""
    made = {(row.scenario, row.subject): row for row in table if row.purpose is Purpose.SUBJECT}
    asked = {
        (run.title, run.subject): run.thresholds
        for run in plan.runs
        if run.purpose is Purpose.SUBJECT and not plan.is_part
    }
    return list(_judged(asked, made))


def _judged(
    asked: Mapping[tuple[str, str], Sequence[str]], made: Mapping[tuple[str, str], results.Row]
) -> Iterator[Result]:
    for (scenario, subject), texts in asked.items():
        row = made.get((scenario, subject))
        for threshold in planned(texts):
            if threshold.per == "campaign":
                measured = _measured(threshold.metric, row.runs if row else ())
                found = threshold_results.judged(threshold, *measured)
                fields = msgspec.structs.asdict(found)
                yield Result(**fields, scenario=scenario, subject=subject)


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
