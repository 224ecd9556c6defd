"""Checks that this machine has the schedulers that a plan names, in the same versions.

A table names foreign schedulers by the version that they had where the plan was made. A machine
with another version would fill the rows of one scheduler with runs of another.
"""

from collections.abc import Iterable

from harness import errors
from harness.campaign import campaign_plan
from harness.campaign.purposes import Purpose
from harness.history import subject_names
from harness.run import run_plan
from harness.scenario import loading, profiles


def require_same(plan: campaign_plan.CampaignPlan) -> None:
    """Raise UsageError or ScenarioError for a run that this machine would make otherwise."""
    for run in _kinds(plan.runs):
        found = _name(plan, run)
        if found != run.tested:
            raise errors.UsageError(
                f"expected {run.tested} on this machine, because the plan names it for "
                f"{run.title}, got {found}: install that version, or write the plan here"
            )


def _kinds(runs: Iterable[campaign_plan.PlannedRun]) -> Iterable[campaign_plan.PlannedRun]:
    """Return one run of each kind whose schedulers the plan has named."""
    named = (run for run in runs if run.tested and run.purpose is not Purpose.CONTROL)
    return {
        (run.scenario, *run.subjects, *run.remedies, run.release, run.tested): run for run in named
    }.values()


def _name(plan: campaign_plan.CampaignPlan, run: campaign_plan.PlannedRun) -> str:
    """Return the schedulers of a run for tables, as they are on this machine."""
    resolved = run_plan.plan(
        loading.load(run.scenario),
        seed=run.seed,
        remedies=run.remedies,
        release=run.release,
        cluster=profiles.restore(plan.cluster),
        chosen_subjects=run.subjects,
        binaries=plan.binaries,
        fault_carrier=plan.fault_carrier,
    )
    return subject_names.of_plan(resolved)
