"""`flake-hunt run`: make one run and judge it."""

from typing import Annotated, Literal

import typer

from harness.cli import choosing
from harness.cli.terminal import outputs


@choosing.with_groups
def run(
    scenario: Annotated[
        str,
        typer.Argument(
            autocompletion=choosing.scenario_names,
            help="Scenario file, or name of a shipped scenario; its \\[\\[faults]] break something on purpose.",
        ),
    ],
    on: choosing.ClusterOptions,
    form: outputs.OutputOptions,
    defect: choosing.Defects = None,
    remedy: choosing.Remedies = None,
    release: choosing.Release = "",
    seed: choosing.Seed = None,
    override: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Change a key of the scenario: --set traffic.users=8 (may be repeated).",
        ),
    ] = None,
    threshold: choosing.Thresholds = None,
    fault_carrier: Annotated[
        Literal["auto", "server", "proxy"],
        typer.Option(
            "--fault-carrier",
            rich_help_panel=choosing.MORE,
            help="Where faults of API calls and watches are injected: in the embedded API server (server), or in a "
            "proxy before any API server; auto: server on an embedded cluster, else proxy.",
        ),
    ] = "auto",
    until_found: Annotated[  # noqa: FBT002 - typer turns it into a flag
        bool,
        typer.Option(
            "--until-found",
            help="Stop at the first double allocation, or at what else the --defect causes.",
        ),
    ] = False,
    reports: choosing.Reports = choosing.REPORTS,
) -> int:
    """Run one scenario once and judge it; exit code 0, 10 or 20 by verdict.

    `run` makes one run, `hunt` a campaign of many with controls, and `test` asks one question of
    your scheduler: is it safe?

    flake-hunt run pod-churn --subject kube-scheduler=./kube-scheduler

    flake-hunt run pod-churn --defect gather-not-atomic
    """
    from harness import seeds
    from harness.cli.terminal import annotations, displaying, indexing
    from harness.cluster.lifecycle import held_clusters
    from harness.run import run_plan, runs
    from harness.scenario import loading

    loaded = loading.load(scenario, overrides=override or (), given_thresholds=threshold or ())
    held_clusters.prepare()
    choosing.require_bearable("traffic.processes", loaded.scenario.traffic.processes)
    chosen = seeds.fresh() if seed is None else seed
    plan = run_plan.plan(
        loaded,
        seed=chosen,
        defects=defect or (),
        remedies=remedy or (),
        release=release,
        cluster=on.profile(),
        until_found=until_found,
        chosen_subjects=on.subject or (),
        claim_controller=on.claim_controller,
        fault_carrier=fault_carrier,
    )
    with form.chosen() as out:
        directory = runs.new_directory(plan, reports)
        out.note(f"seed {chosen}")
        with (
            indexing.refreshed(reports),
            displaying.keeping_evidence(directory.path),
            displaying.run_progress(out) as progress,
        ):
            judgement = runs.run(loaded, plan, directory, progress=progress)
        displaying.show(judgement, directory, out=out)
        annotations.of_judgement(judgement)
    return judgement.exit_code
