"""`flake-hunt hunt`: the campaign that `make flake-hunt` runs."""

import pathlib
import sys
from typing import Annotated

import typer

from harness.cli import choosing
from harness.cli.terminal import outputs

_PANEL = "Hunting"


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(rich_help_panel=_PANEL)(hunt)


def hunt(
    scenario: Annotated[
        list[str] | None,
        typer.Argument(
            autocompletion=choosing.scenario_names,
            help="Scenario files, names of shipped scenarios, or `regress` for those that each show "
            "one known defect (default: the three about races and two known hazards, about two minutes).",
        ),
    ] = None,
    is_whole: Annotated[  # noqa: FBT002 - typer turns it into a flag
        bool, typer.Option("--all", help="Run every shipped scenario.")
    ] = False,
    repeat: Annotated[
        int,
        typer.Option(
            min=0,
            max=choosing.REPEAT_MAX,
            help="Number of runs of each scenario with the correct scheduler and with its remedies.",
        ),
    ] = 2,
    repeat_controls: Annotated[
        int,
        typer.Option(
            min=0,
            max=choosing.REPEAT_MAX,
            help="Number of runs of each scenario with each of its known defects.",
        ),
    ] = 1,
    defect: Annotated[
        list[str] | None,
        typer.Option(
            "--defect", help="Use only this known defect as positive control (may be repeated)."
        ),
    ] = None,
    remedy: Annotated[
        list[str] | None,
        typer.Option(
            "--remedy",
            autocompletion=choosing.remedy_names,
            help="Give the Python subject this remedy in all runs except the controls (may be repeated).",
        ),
    ] = None,
    release: choosing.Release = "",
    jobs: choosing.Jobs = None,
    seed: choosing.Seed = None,
    subject: choosing.Subject = None,
    cluster: choosing.Cluster = "embedded",
    cluster_set: choosing.ClusterSet = None,
    binaries: choosing.Binaries = None,
    fault_carrier: choosing.FaultCarrier = "auto",
    kubeconfig: choosing.Kubeconfig = None,
    context: choosing.Context = None,
    i_know_this_cluster: choosing.IKnow = False,  # noqa: FBT002 - typer turns it into a flag
    summary: choosing.Summary = None,
    reports: choosing.Reports = pathlib.Path("reports"),
    force: choosing.Force = False,  # noqa: FBT002
    output: outputs.Form = "text",
    quiet: outputs.Quiet = False,  # noqa: FBT002
    verbose: outputs.Verbose = False,  # noqa: FBT002
) -> int:
    """Run scenarios with the correct scheduler, and with each known defect as a control.

    A scenario that is known to fail, as with kube-scheduler, is a hazard: it must fail, and must be
    valid with its remedies.

    Exit code 0: every run of the correct scheduler was valid, every control caught, every hazard
    shown.

    10: a run of the correct scheduler, or one with remedies, was invalid.

    20: inconclusive (for example, a control was not caught).
    """
    from harness import errors, seeds
    from harness.campaign import campaign_plan, results, summaries
    from harness.cli import campaigning
    from harness.scenario import loading

    chosen = seeds.fresh() if seed is None else seed
    profile = choosing.profile(
        cluster, cluster_set, binaries, kubeconfig, context, is_known=i_know_this_cluster
    )
    if scenario and is_whole:
        raise errors.UsageError(
            f"expected --all or names of scenarios, got both ({', '.join(scenario)}): remove one"
        )
    plain = loading.shipped_names() if is_whole else loading.plain_hunt_names()
    names = loading.expanded(scenario) if scenario else plain
    for name in names:
        processes = loading.load(name).scenario.traffic.processes
        choosing.require_bearable(f"traffic.processes of {name}", processes, is_forced=force)
    at_once = choosing.jobs(jobs, profile, is_forced=force)
    plan = campaign_plan.plan(
        names,
        seed=chosen,
        repeat=repeat,
        repeat_controls=repeat_controls,
        reports=reports,
        cluster=profile,
        subjects=subject or (),
        remedies=remedy or (),
        release=release,
        binaries=choosing.folder(binaries),
        fault_carrier=fault_carrier,
        defects=defect or None,
        again=campaigning.command(sys.argv[1:], chosen, is_given=seed is not None),
    )
    with outputs.chosen(output, quiet=quiet, verbose=verbose) as out:
        out.note(f"seed {chosen}")
        made = campaigning.make(plan, reports=reports, jobs=at_once, out=out)
        if out.is_json:
            out.document(made.document)
    table = results.rows(made.results)
    text = summaries.campaign(table, headline=made.document.headline, seed=chosen)
    campaigning.summarize(summary, text)
    return made.exit_code
