"""Makes a campaign or one shard of it, with progress, table and summary; or only shows its plan."""

import dataclasses
import os
import pathlib
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec
import typer

from harness import errors, seeds, writing
from harness.cli import choosing, interruptions, options
from harness.cli.terminal import annotations, indexing, outputs
from harness.history import directories
from harness.report import escaping

if TYPE_CHECKING:
    from harness.campaign import campaign_documents, campaign_plan
    from harness.campaign.sharding import sharded_plans
    from harness.history import results

RUNS_SHOWN = 200
"""Runs that --dry-run prints; its JSON has all."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MakingOptions(outputs.OutputOptions):
    """The options about how the runs of a campaign are made, and what is written about them."""

    exit_first: bool = options.flag(
        "End at the first run that is not as expected. Others under way are cut, and all pages are written.",
        "--exit-first",
        "-x",
    )
    dry_run: bool = options.flag(
        "Print the runs in their order; make none, and write nothing.", "--dry-run"
    )
    jobs: int | None = choosing.JOBS
    summary: pathlib.Path | None = choosing.SUMMARY
    reports: pathlib.Path = choosing.REPORTS
    seed: int | None = choosing.SEED

    def seeded(self, words: Sequence[str]) -> tuple[int, list[str]]:
        if self.seed is not None:
            return self.seed, [*words]
        seed, end = seeds.fresh(), words.index("--") if "--" in words else len(words)
        return seed, [*words[:end], "--seed", str(seed), *words[end:]]

    def perform(
        self, plan: "campaign_plan.CampaignPlan", *, minutes: float | None, begun_ns: int, jobs: int
    ) -> int:
        from harness.campaign import budgets

        plan = msgspec.structs.replace(plan, exit_first=self.exit_first)
        first = len(plan.runs)
        if minutes:
            plan = budgets.planned(plan, minutes, begun_ns=begun_ns, jobs=jobs)
        with self.chosen() as out:
            if self.dry_run:
                _show(plan, plan.runs[:first], jobs, out)
                return 0
            for text in plan.selection:
                out.note(text)
            made = make(plan, reports=self.reports, jobs=jobs, out=out, summary=self.summary)
        return made.exit_code

    def perform_shard(self, file: pathlib.Path, shard: str | None) -> int:
        from harness.campaign.sharding import shard_folders, sharded_plans
        from harness.scenario import profiles

        plan = sharded_plans.read(file)
        sharded_plans.require_same_version(plan, file)
        number, why = shard_folders.choose(shard, os.environ, shards=plan.shards)
        jobs = choosing.jobs(self.jobs, profiles.restore(plan.campaign.cluster))
        with self.chosen() as out:
            made = make_shard(
                plan, number, why, jobs=jobs, reports=self.reports, out=out, summary=self.summary
            )
        return made.exit_code


def make(
    plan: "campaign_plan.CampaignPlan",
    *,
    reports: pathlib.Path,
    jobs: int,
    out: outputs.Output,
    summary: pathlib.Path | None = None,
    folder: pathlib.Path | None = None,
    kept: "Sequence[results.RunResult]" = (),
) -> "campaign_documents.CampaignDocument":
    """Make the runs of the plan and show their results; the index of the reports has them.

    `folder` None: a new one; `kept` are the results that a folder has already. If the user ends a
    campaign with a time budget before its time, the exit code is that of an interruption.
    """
    from harness.campaign import budgets, campaign_pages, hunting
    from harness.cli.terminal import displaying, tables

    plan = msgspec.structs.replace(plan, jobs=jobs)
    folder = folder or hunting.new_folder(reports, plan.seed)
    total = None if plan.minutes else len(plan.runs) - len(plan.done)
    out.note(f"seed {plan.seed}")
    with (
        indexing.refreshed(reports),
        displaying.keeping_evidence(folder),
        tables.campaign_progress(total, out) as listener,
    ):
        hunted = hunting.hunt(plan, folder, listener=listener, kept=kept)
        _link_worst(hunted.results, pathlib.Path(plan.reports))
        document = campaign_pages.publish(hunted.results, plan, folder, ending=hunted.ending)
        tables.show(document, folder, out)
    annotate(document, summary)
    is_interrupted = hunted.ending is budgets.Ending.INTERRUPTED
    code = interruptions.EXIT_CODE if is_interrupted else document.exit_code
    return msgspec.structs.replace(document, exit_code=code)


def annotate(document: "campaign_documents.CampaignDocument", summary: pathlib.Path | None) -> None:
    """Tell CI systems: by annotations, and by the summary that is appended to a file."""
    from harness.campaign import campaign_pages

    annotations.of_campaign(document)
    if summary is not None:
        with writing.explained(summary), summary.open("a", encoding="utf-8") as file:
            file.write(campaign_pages.summary(document))


def _link_worst(found: "Sequence[results.RunResult]", reports: pathlib.Path) -> None:
    """Controls and hazards are not about the subject, and fail as they should."""
    from harness.checks import verdicts
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


def make_shard(
    plan: "sharded_plans.ShardedPlan",
    number: int,
    why: str,
    *,
    jobs: int,
    reports: pathlib.Path,
    out: outputs.Output,
    summary: pathlib.Path | None = None,
) -> "campaign_documents.CampaignDocument":
    """Make shard `number` (0: all), which `why` has chosen."""
    from harness.campaign.sharding import shard_folders

    with shard_folders.started(plan, number, reports=reports, jobs=jobs) as (
        folder,
        campaign,
        kept,
    ):
        shard_folders.require_same_subjects(campaign)
        done = f", {len(campaign.done)} of them made before" * bool(campaign.done)
        runs = outputs.counted(len(campaign.runs), "run")
        text = f"{shard_folders.name(number, plan.shards)}{f' ({why})' * bool(why)}"
        out.note(f"{text}: {runs}{done}")
        return make(
            campaign, reports=reports, jobs=jobs, out=out, summary=summary, folder=folder, kept=kept
        )


def _show(
    plan: "campaign_plan.CampaignPlan",
    runs: "Sequence[campaign_plan.PlannedRun]",
    jobs: int,
    out: outputs.Output,
) -> None:
    if out.is_json:
        out.document({"seed": plan.seed, "selection": plan.selection, "runs": runs})
        return
    for line in (f"seed {plan.seed}", *_lines(runs), *plan.selection):
        out.note(line)
    rounds = f"; all but the controls are repeated until {plan.minutes:g} minutes are used"
    print(f"{outputs.counted(len(runs), 'run')}, {jobs} at once{rounds * bool(plan.minutes)}")


def _lines(runs: "Sequence[campaign_plan.PlannedRun]") -> Iterator[str]:
    rows = [
        (run.purpose, f"{run.title}{f' ({run.hypothesis})' * bool(run.hypothesis)}", run.subject)
        for run in runs[:RUNS_SHOWN]
    ]
    yield from map(escaping.visible, outputs.aligned(rows))
    if len(runs) > RUNS_SHOWN:
        yield f"and {len(runs) - RUNS_SHOWN} more, which --output json lists"


def require_no_other_options(context: typer.Context, allowed: Collection[str], with_: str) -> None:
    """Raise UsageError for an option that is given and not allowed; `with_` says with what."""
    given = [
        max(parameter.opts, key=len)
        for parameter in context.command.params
        if parameter.name not in allowed
        and (source := context.get_parameter_source(str(parameter.name))) is not None
        and source.name == "COMMANDLINE"
    ]
    if given:
        raise errors.UsageError(f"expected {with_}, got {', '.join(given)} too: leave that out")
