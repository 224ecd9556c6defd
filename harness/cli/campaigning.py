"""A campaign with its progress, table, annotations and summary, for the commands that make one or many."""

import dataclasses
import pathlib
from typing import TYPE_CHECKING

from harness import writing
from harness.cli import outputs

if TYPE_CHECKING:
    from harness.campaign import campaign_plan, results


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A campaign that has ended."""

    results: "list[results.RunResult]"
    folder: pathlib.Path
    exit_code: int
    headline: str


def make(
    plan: "campaign_plan.CampaignPlan", *, reports: pathlib.Path, jobs: int, out: outputs.Output
) -> Made:
    """Make the runs of the plan and show what they came to."""
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
    return Made(results=found, folder=folder, exit_code=exit_code, headline=headline)


def summarize(path: pathlib.Path | None, text: str) -> None:
    """Append the Markdown to the file, if there is one."""
    if path is not None:
        with writing.explained(path), path.open("a", encoding="utf-8") as file:
            file.write(text)
