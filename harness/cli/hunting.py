"""`flake-hunt hunt`: the campaign that `make flake-hunt` runs."""

import pathlib
from typing import Annotated

import typer

from harness.cli import choosing

_PANEL = "Hunting"


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(rich_help_panel=_PANEL)(hunt)


def hunt(
    scenario: Annotated[
        list[str] | None,
        typer.Argument(help="Scenario files, or names of shipped ones (default: all of these)."),
    ] = None,
    repeat: Annotated[int, typer.Option(min=0, help="Runs of each scenario, correct subject.")] = 2,
    repeat_controls: Annotated[
        int, typer.Option(min=0, help="Runs of each scenario with each of its known defects.")
    ] = 1,
    defect: Annotated[
        list[str] | None,
        typer.Option("--defect", help="Only these known defects as controls (may be repeated)."),
    ] = None,
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
) -> int:
    """A campaign: every scenario with the correct subject, and with each known defect as positive control.

    Exit code 0: the correct subject was valid in every run, and every control was caught. 10: it gave a device away twice.

    20: that cannot be told (a control was missed, for example).
    """
    from harness import seeds
    from harness.campaign import planning, results, summaries
    from harness.cli import campaigning
    from harness.scenario import loading

    chosen = seeds.fresh() if seed is None else seed
    profile = choosing.profile(
        cluster, cluster_set, binaries, kubeconfig, context, is_known=i_know_this_cluster
    )
    print(f"seed {chosen}", flush=True)
    plan = planning.plan(
        scenario or loading.shipped_names(),
        seed=chosen,
        repeat=repeat,
        repeat_controls=repeat_controls,
        reports=reports,
        cluster=profile,
        subjects=subject or (),
        binaries=choosing.folder(binaries),
        defects=defect or None,
    )
    made = campaigning.make(plan, reports=reports, jobs=choosing.jobs(jobs, profile))
    table = results.rows(made.results)
    text = summaries.campaign(table, headline=made.headline, seed=chosen)
    campaigning.summarize(summary, text)
    return made.exit_code
