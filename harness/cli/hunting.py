"""`flake-hunt hunt`: the campaign that `make flake-hunt` runs."""

import os
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
    jobs: Annotated[int | None, typer.Option(min=1, help="Runs at once (default: cores).")] = None,
    seed: Annotated[int | None, typer.Option(help="All random numbers come from it.")] = None,
    subject: choosing.Subject = None,
    cluster: choosing.Cluster = "embedded",
    cluster_set: choosing.ClusterSet = None,
    binaries: choosing.Binaries = None,
    kubeconfig: choosing.Kubeconfig = None,
    context: choosing.Context = None,
    i_know_this_cluster: choosing.IKnow = False,  # noqa: FBT002 - typer turns it into a flag
    reports: Annotated[
        pathlib.Path, typer.Option("--reports", help="Run directories go below this folder.")
    ] = pathlib.Path("reports"),
) -> int:
    """A campaign: every scenario with the correct subject, and with each known defect as positive control.

    Exit code 0 when the correct subject was valid in every run and every control was caught, 10 when a double allocation was found
    in the correct subject, 20 when that cannot be told (a control was missed, for example).
    """
    from harness import seeds
    from harness.campaign import hunting, planning
    from harness.cli import displaying, tables
    from harness.scenario import loading

    chosen = seeds.fresh() if seed is None else seed
    profile = choosing.profile(
        cluster,
        overrides=cluster_set,
        binaries=binaries,
        kubeconfig=kubeconfig,
        context=context,
        i_know_this_cluster=i_know_this_cluster,
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
    folder = hunting.new_folder(reports, chosen)
    with (
        displaying.keeping_evidence(folder),
        tables.campaign_progress(len(plan.runs)) as listener,
    ):
        found = hunting.hunt(plan, folder, jobs=jobs or os.cpu_count() or 1, listener=listener)
    return tables.show(found, plan, folder=folder)
