"""`flake-hunt nightly`: campaigns within a time budget, for the nightly workflow."""

import pathlib
from typing import Annotated

import typer

from harness.cli import choosing
from harness.cli.terminal import outputs


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(rich_help_panel="Hunting")(nightly)


def nightly(
    minutes: Annotated[
        float,
        typer.Option(
            min=0,
            callback=choosing.require_number,
            help="Time budget; no campaign is started that would not finish in time.",
        ),
    ] = 30,
    repeat: Annotated[
        int,
        typer.Option(
            min=1, max=choosing.REPEAT_MAX, help="Number of runs of each scenario in a campaign."
        ),
    ] = 2,
    jobs: choosing.Jobs = None,
    seed: choosing.Seed = None,
    subject: choosing.Subject = None,
    cluster: choosing.Cluster = "embedded",
    cluster_set: choosing.ClusterSet = None,
    binaries: choosing.Binaries = None,
    kubeconfig: choosing.Kubeconfig = None,
    context: choosing.Context = None,
    i_know_this_cluster: choosing.IKnow = False,  # noqa: FBT002 - typer turns it into a flag
    summary: choosing.Summary = None,
    reports: choosing.Reports = pathlib.Path("reports"),
    force: choosing.Force = False,  # noqa: FBT002
    quiet: outputs.Quiet = False,  # noqa: FBT002
    verbose: outputs.Verbose = False,  # noqa: FBT002
) -> int:
    """Repeat campaigns within a time budget; each known defect runs once as a control.

    Exit code 10 if a guarantee was broken, 20 if a control was not caught, otherwise 0.

    reports/nights.jsonl keeps the history, and reports/trends.sqlite the figures of every campaign:
    reports/trends.html shows how they change, and the summary says if the newest is worse.
    """
    from harness import seeds
    from harness.campaign import campaign_plan, nights, results, summaries
    from harness.cli.campaigns import campaigning
    from harness.cli.evaluation import trend_commands
    from harness.scenario import loading

    chosen = seeds.fresh() if seed is None else seed
    profile = choosing.profile(
        cluster, cluster_set, binaries, kubeconfig, context, is_known=i_know_this_cluster
    )
    at_once = choosing.jobs(jobs, profile, is_forced=force)
    budget, campaigns = nights.Budget(minutes * 60), []
    with outputs.chosen(quiet=quiet, verbose=verbose) as out:
        out.note(f"seed {chosen}")
        for number in budget.rounds():
            plan = campaign_plan.plan(
                loading.shipped_names(),
                seed=seeds.Seeds(chosen).derive("campaign", number),
                repeat=repeat,
                repeat_controls=1 if number == 0 else 0,
                reports=reports,
                cluster=profile,
                subjects=subject or (),
                binaries=choosing.folder(binaries),
            )
            made = campaigning.make(plan, reports=reports, jobs=at_once, out=out)
            campaigns.append(made)
    found = [result for made in campaigns for result in made.results]
    summaries.merge_junit((made.folder for made in campaigns), reports / nights.JUNIT)
    entry = nights.night(
        found,
        cluster=cluster,
        subject=", ".join(subject or ["python"]),
        seed=chosen,
        campaigns=len(campaigns),
        seconds=budget.used_s,
    )
    text = nights.markdown(entry, results.rows(found), nights.remember(reports, entry))
    print(text)
    campaigning.summarize(summary, text)
    trend_commands.remember([made.folder for made in campaigns], reports, summary=summary)
    return entry.exit_code
