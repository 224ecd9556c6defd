"""Runs a campaign with progress, table, annotations and summary, for `hunt` and `nightly`."""

import dataclasses
import pathlib
from typing import TYPE_CHECKING

from harness import writing
from harness.cli import outputs

if TYPE_CHECKING:
    from harness.campaign import campaign_plan, results


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CampaignOutcome:
    """The results of a campaign."""

    results: "list[results.RunResult]"
    folder: pathlib.Path
    exit_code: int
    headline: str


def make(
    plan: "campaign_plan.CampaignPlan", *, reports: pathlib.Path, jobs: int, out: outputs.Output
) -> CampaignOutcome:
    """Make the runs of the plan and show their results."""
    from harness.campaign import hunting, results
    from harness.cli import annotations, displaying, tables

    folder = hunting.new_folder(reports, plan.seed)
    with (
        displaying.keeping_evidence(folder),
        tables.campaign_progress(len(plan.runs), out) as listener,
    ):
        found = hunting.hunt(plan, folder, jobs=jobs, listener=listener)
    exit_code = tables.show(found, plan, folder=folder, out=out)
    table = results.rows(found)
    annotations.of_campaign(table)
    headline = tables.headline(table, exit_code)
    return CampaignOutcome(results=found, folder=folder, exit_code=exit_code, headline=headline)


def summarize(path: pathlib.Path | None, text: str) -> None:
    """Append Markdown to the file; do nothing if `path` is None."""
    if path is not None:
        with writing.explained(path), path.open("a", encoding="utf-8") as file:
            file.write(text)
