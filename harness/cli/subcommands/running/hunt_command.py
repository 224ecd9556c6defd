"""`flake-hunt hunt`: the campaign that `make flake-hunt` runs."""

import pathlib
import sys
from typing import Annotated

import typer

from harness import errors
from harness.cli import choosing
from harness.cli.campaigns import campaign_options, campaigning, planned_hunts, run_selection
from harness.cli.terminal import outputs


@choosing.with_groups
def hunt(
    context_of_options: typer.Context,
    options: campaign_options.CampaignOptions,
    selection: run_selection.SelectionOptions,
    last_failed: run_selection.LastFailed = False,  # noqa: FBT002
    locustfile: choosing.Locustfile = "",
    minutes: Annotated[
        float | None,
        typer.Option(
            callback=choosing.require_number,
            help="Repeat the runs until this time is used. Runs that are under way then are cut, and all pages are written. If some "
            "kind of run had none, that one may take as long again.",
        ),
    ] = None,
    jobs: choosing.Jobs = None,
    plan: Annotated[
        pathlib.Path | None,
        typer.Option(
            "--plan",
            metavar="FILE",
            help="Make the runs of this plan, which `flake-hunt plan` wrote, instead of others.",
        ),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(
            "--shard",
            metavar="I/N",
            help="With --plan: make this shard, as in 3/20, or `all` (default: what JOB_COMPLETION_INDEX or "
            "SLURM_ARRAY_TASK_ID says, else all). Started again, it makes the runs that are left.",
        ),
    ] = None,
    summary: choosing.Summary = None,
    reports: choosing.Reports = pathlib.Path("reports"),
    output: outputs.Form = "text",
    quiet: outputs.Quiet = False,  # noqa: FBT002
    verbose: outputs.Verbose = False,  # noqa: FBT002
) -> int:
    """Run scenarios with the correct scheduler, and with each known defect as a control.

    `flake-hunt test PROGRAM` asks less, and is about your scheduler. Examples:

        flake-hunt hunt --subject kube-scheduler=./kube-scheduler

        flake-hunt hunt 'claim-*' --dry-run

        flake-hunt hunt --last-failed --exit-first

    A hazard is a scenario in which the correct scheduler, like kube-scheduler, is known to fail. It
    must fail without its remedies and be valid with them.

    Exit code 0: every run of the correct scheduler was valid, every control caught, every hazard
    shown.

    10: a run of the correct scheduler, or one with remedies, was invalid.

    20: inconclusive (for example, a control was not caught).

    With --minutes, the first round makes every run, and the next ones all but the controls again.
    When the time ends, the first run of a kind may take as long again, if that is likely to be
    enough for all kinds. If some kind has no run even then, the outcome is 20, unless it is 10, and
    says how many minutes will do. A run that is cut counts only if it found what it looks for.

    With --plan and --shard, one shard of a campaign over many machines runs; see `plan --help`.
    """
    import msgspec

    from harness import clocks, seeds
    from harness.campaign import budgets
    from harness.scenario import profiles

    begun_ns = clocks.monotonic_ns()
    if plan is not None:
        planned_hunts.require_no_other_options(context_of_options)
        with outputs.chosen(output, quiet=quiet, verbose=verbose) as out:
            return planned_hunts.hunt(
                plan,
                shard,
                jobs=jobs,
                reports=reports,
                summary=summary,
                is_forced=options.force,
                out=out,
            )
    if shard is not None:
        raise errors.UsageError(f"expected --plan FILE with --shard {shard}: name the plan's file")
    budgets.require(minutes)
    chosen = seeds.fresh() if options.seed is None else options.seed
    again = campaigning.command(sys.argv[1:], chosen, is_given=options.seed is not None)
    if last_failed:
        campaign = run_selection.failed_again(context_of_options, reports)
        minutes = minutes or campaign.minutes or None
    else:
        campaign = options.planned(chosen, reports=reports, again=again, locustfile=locustfile)
    campaign = msgspec.structs.replace(campaign, exit_first=selection.exit_first)
    at_once = choosing.jobs(jobs, profiles.restore(campaign.cluster), is_forced=options.force)
    first = len(campaign.runs)
    if minutes is not None:
        campaign = budgets.planned(campaign, minutes, begun_ns=begun_ns, jobs=at_once)
    if selection.dry_run:
        return run_selection.show(campaign, first=first, jobs=at_once, form=output, is_quiet=quiet)
    with outputs.chosen(output, quiet=quiet, verbose=verbose) as out:
        for text in campaign.selection:
            out.note(text)
        made = campaigning.make(
            campaign,
            reports=reports,
            jobs=at_once,
            out=out,
        )
        if out.is_json:
            out.document(made.document)
    campaigning.summarize_campaign(summary, made, campaign)
    return made.exit_code
