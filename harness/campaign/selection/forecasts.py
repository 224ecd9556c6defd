"""The runs that a campaign would make, in their order, and their durations (`--dry-run`)."""

import heapq
import pathlib
from collections.abc import Iterable, Mapping

import msgspec

from harness.campaign import campaign_plan
from harness.campaign.purposes import Purpose
from harness.campaign.selection import run_durations

SCHEMA_VERSION = 1


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A run that would be made."""

    number: int
    purpose: Purpose
    scenario: str
    subject: str
    hypothesis: str
    repetition: int
    seed: int
    seconds: float
    """How long it takes, with all attempts."""
    is_measured: bool
    """The seconds are the median of such runs in earlier campaigns, and no estimate."""


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    """A campaign that would be made."""

    schema: int = SCHEMA_VERSION
    seed: int
    jobs: int
    """Number of runs at once."""
    seconds: float
    """How long all runs take."""
    minutes: float
    """Time budget, in which they are repeated; 0: there is none."""
    selection: list[str]
    """Sentences that say which runs were left out."""
    runs: list[Run]
    """The runs in their order; of a campaign with a time budget those of the first round."""


def forecast(
    plan: campaign_plan.CampaignPlan, *, jobs: int, reports: pathlib.Path, first: int
) -> Forecast:
    """Return what a plan would make with as many jobs; `first` is the size of its first round."""
    durations = run_durations.known(reports)
    runs = [_run(run, durations) for run in plan.runs[:first]]
    return Forecast(
        seed=plan.seed,
        jobs=jobs,
        seconds=round(ended_after_s((run.seconds for run in runs), jobs), 1),
        minutes=plan.minutes,
        selection=plan.selection,
        runs=runs,
    )


def ended_after_s(durations_s: Iterable[float], jobs: int) -> float:
    """Return when the last of several runs ends, of which each begins as soon as one has ended."""
    free_at = [0.0] * jobs
    for seconds in durations_s:
        heapq.heapreplace(free_at, free_at[0] + seconds)
    return max(free_at)


def _run(run: campaign_plan.PlannedRun, durations: Mapping[run_durations.Kind, float]) -> Run:
    known = durations.get(run_durations.kind(run.title, run.subject))
    return Run(
        number=run.number,
        purpose=run.purpose,
        scenario=run.title,
        subject=run.subject,
        hypothesis=run.hypothesis,
        repetition=run.repetition,
        seed=run.seed,
        seconds=run.estimate_s if known is None else known,
        is_measured=known is not None,
    )
