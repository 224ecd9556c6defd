"""`flake-hunt hunt --plan`: one shard of a plan on this machine, or all of them."""

import os
import pathlib
from typing import TYPE_CHECKING

import typer

from harness.cli import choosing
from harness.cli.campaigns import campaigning, run_selection
from harness.cli.terminal import outputs

if TYPE_CHECKING:
    from harness.campaign.sharding import chosen_shards, sharded_plans

ALLOWED = frozenset({"plan", "shard", "jobs", "reports", "summary", "output", "verbose"})
"""Parameters of `hunt` that the plan does not decide."""


def require_no_other_options(context: typer.Context) -> None:
    """Raise UsageError for an option that the plan has decided already."""
    run_selection.require_no_other_options(
        context,
        ALLOWED,
        "--plan alone, because it has decided all runs (`flake-hunt shards plan` takes options of runs)",
    )


def hunt(
    file: pathlib.Path,
    shard: str | None,
    *,
    jobs: int | None,
    reports: pathlib.Path,
    summary: pathlib.Path | None,
    out: outputs.Output,
) -> int:
    """Make the runs of a shard that have no result yet; return the exit code.

    Raises UsageError for a plan or a shard that cannot be made here.
    """
    from harness.campaign.sharding import chosen_shards, sharded_plans
    from harness.scenario import profiles

    plan = sharded_plans.read(file)
    sharded_plans.require_same_machine(plan, file)
    chosen = chosen_shards.choose(shard, os.environ, shards=plan.shards)
    profile = profiles.restore(plan.campaign.cluster)
    at_once = choosing.jobs(jobs, profile)
    made = make(plan, chosen, jobs=at_once, reports=reports, out=out)
    campaigning.summarize(summary, made.document)
    return made.exit_code


def make(
    plan: "sharded_plans.ShardedPlan",
    chosen: "chosen_shards.ChosenShard",
    *,
    jobs: int,
    reports: pathlib.Path,
    out: outputs.Output,
) -> campaigning.CampaignOutcome:
    """Make the runs of a shard that have no result yet, in its folder."""
    from harness.campaign.sharding import shard_folders

    with shard_folders.opened(plan, chosen, reports=reports, jobs=jobs) as folder:
        campaign = shard_folders.campaign(plan, folder)
        shard_folders.require_same_subjects(campaign)
        out.note(_about(chosen, len(campaign.runs), len(campaign.done)))
        made = campaigning.make(
            campaign,
            reports=reports,
            jobs=jobs,
            out=out,
            folder=folder.path,
            kept=folder.kept,
        )
    if out.is_json:
        out.document(made.document)
    return made


def _about(chosen: "chosen_shards.ChosenShard", runs: int, done: int) -> str:
    why = f" ({chosen.reason})" * bool(chosen.reason)
    left = f", {done} of them made before" * bool(done)
    return f"{chosen.text}{why}: {outputs.counted(runs, 'run')}{left}"
