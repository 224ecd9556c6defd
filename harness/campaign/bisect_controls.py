"""Remembers, for a bisection that git has begun, that its controls were caught once."""

import pathlib

import msgspec

from harness import regular_files, writing
from harness.campaign import bisection, campaign_plan
from harness.campaign.purposes import Purpose

NAME = "bisection.json"
"""Name of the file in the folder of reports; the next bisection replaces it."""


class CaughtControls(msgspec.Struct, frozen=True, kw_only=True):
    """The controls of a bisection, all of which were caught."""

    start: str
    """Identifies the bisection."""
    cluster: str
    controls: list[str]
    """Scenarios and defects, as `pod-churn: gather-not-atomic`."""


def are_caught(
    reports: pathlib.Path, plan: campaign_plan.CampaignPlan, step: bisection.Step
) -> bool:
    """Return whether an earlier step of the same bisection has caught the controls of a plan."""
    try:
        known = msgspec.json.decode(regular_files.content(reports / NAME), type=CaughtControls)
    except (OSError, msgspec.DecodeError):
        return False
    return bool(step.start) and known == _controls(plan, step)


def remember(reports: pathlib.Path, plan: campaign_plan.CampaignPlan) -> None:
    """Note that all controls of a plan were caught, if it has any.

    Raises StorageError or UnwritableError if that cannot be written.
    """
    step = plan.bisect_step
    has_any = any(run.purpose is Purpose.CONTROL for run in plan.runs)
    if step is not None and step.start and has_any:
        writing.replace(reports / NAME, msgspec.json.encode(_controls(plan, step)) + b"\n")


def _controls(plan: campaign_plan.CampaignPlan, step: bisection.Step) -> CaughtControls:
    names = {f"{run.title}: {run.subject}" for run in plan.runs if run.purpose is Purpose.CONTROL}
    return CaughtControls(
        start=step.start, cluster=str(plan.cluster.get("name", "")), controls=sorted(names)
    )
