"""A campaign with its progress and its table, for the commands that make one or many."""

import pathlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.campaign import planning, results


def make(
    plan: "planning.CampaignPlan", *, reports: pathlib.Path, jobs: int
) -> "tuple[list[results.RunResult], int]":
    """Make its runs and show what they came to; the results, and the exit code."""
    from harness.campaign import hunting
    from harness.cli import displaying, tables

    folder = hunting.new_folder(reports, plan.seed)
    with (
        displaying.keeping_evidence(folder),
        tables.campaign_progress(len(plan.runs)) as listener,
    ):
        found = hunting.hunt(plan, folder, jobs=jobs, listener=listener)
    return found, tables.show(found, plan, folder=folder)
