"""Runs a campaign with progress, table, annotations and summary."""

import dataclasses
import os
import pathlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness import writing
from harness.cli import interruptions
from harness.cli.terminal import outputs

if TYPE_CHECKING:
    from harness.campaign import campaign_documents, campaign_plan
    from harness.history import results


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CampaignOutcome:
    """The results of a campaign."""

    results: "list[results.RunResult]"
    folder: pathlib.Path
    document: "campaign_documents.CampaignDocument"
    is_interrupted: bool = False
    """The user ended a campaign with a time budget before its time."""

    @property
    def exit_code(self) -> int:
        """Exit code of a command that ends with this campaign."""
        return interruptions.EXIT_CODE if self.is_interrupted else self.document.exit_code


def make(
    plan: "campaign_plan.CampaignPlan",
    *,
    reports: pathlib.Path,
    jobs: int,
    out: outputs.Output,
    folder: pathlib.Path | None = None,
    kept: "Sequence[results.RunResult]" = (),
) -> CampaignOutcome:
    """Make the runs of the plan and show their results; the index of the reports has them.

    `folder` None: a new one; `kept` are the results that a folder has already.
    """
    import msgspec

    from harness.campaign import budgets, hunting
    from harness.cli.terminal import annotations, displaying, indexing, tables

    plan = msgspec.structs.replace(plan, jobs=jobs)
    folder = folder or hunting.new_folder(reports, plan.seed)
    out.note(f"seed {plan.seed}")
    with (
        indexing.refreshed(reports),
        displaying.keeping_evidence(folder),
        tables.campaign_progress(
            None if plan.minutes else len(plan.runs) - len(plan.done), out
        ) as listener,
    ):
        hunted = hunting.hunt(plan, folder, listener=listener, kept=kept)
        found, ending = hunted.results, hunted.ending
        _link_worst(found, pathlib.Path(plan.reports))
        document = tables.show(found, plan, folder=folder, out=out, ending=ending)
    annotations.of_campaign(document.rows)
    annotations.of_thresholds(document.thresholds)
    return CampaignOutcome(
        results=found,
        folder=folder,
        document=document,
        is_interrupted=ending is budgets.Ending.INTERRUPTED,
    )


def _link_worst(found: "Sequence[results.RunResult]", reports: pathlib.Path) -> None:
    """Point `latest` at the worst run of the tested subject, if there is one.

    Controls and hazards are not about the subject, and fail as they should.
    """
    from harness.checks import verdicts
    from harness.history import directories
    from harness.history.purposes import Purpose

    order = list(verdicts.Verdict)
    tested = (run for run in found if run.purpose is Purpose.SUBJECT and run.directory)
    worst = max(
        tested,
        key=lambda run: (order.index(run.verdict or verdicts.Verdict.UNKNOWN), run.breaks),
        default=None,
    )
    if worst is not None and os.path.isdir(worst.directory):  # noqa: PTH112 - never raises
        directories.link_latest(reports, directories.RunDirectory(pathlib.Path(worst.directory)))


def command(arguments: Sequence[str], seed: int, *, is_given: bool) -> list[str]:
    """Return the arguments of `flake-hunt` that repeat a campaign with its seed."""
    if is_given:
        return [*arguments]
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return [*arguments[:end], "--seed", str(seed), *arguments[end:]]


def summarize(path: pathlib.Path | None, document: "campaign_documents.CampaignDocument") -> None:
    """Append the summary of a campaign to a file; do nothing if `path` is None."""
    from harness.campaign import campaign_pages

    if path is not None:
        with writing.explained(path), path.open("a", encoding="utf-8") as file:
            file.write(campaign_pages.summary(document))
