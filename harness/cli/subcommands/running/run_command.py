"""`flake-hunt run`: make one run and judge it."""

import pathlib
from collections.abc import Mapping
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
    defect: choosing.Defects = None,
    remedy: choosing.Remedies = None,
    release: choosing.Release = "",
    seed: choosing.Seed = None,
    override: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="Change a key of the scenario: --set traffic.users=8 (may be repeated)."
        ),
    ] = None,
    threshold: choosing.Thresholds = None,
    locustfile: choosing.Locustfile = "",
    workers: Annotated[
        Literal["local", "remote"] | None,
        typer.Option(
            "--workers",
            help="Where the load's processes run: here, or wherever `flake-hunt traffic-worker` is started.",
        ),
    ] = None,
    traffic_bind: Annotated[
        str | None,
        typer.Option(
            "--traffic-bind",
            metavar="HOST:PORT",
            help="With --workers remote: address to listen on (default: 127.0.0.1:5557).",
        ),
    ] = None,
    i_know_it_is_open: Annotated[  # noqa: FBT002 - typer turns it into a flag
        bool,
        typer.Option(
            "--i-know-it-is-open",
            help="Accept other hosts at --traffic-bind, which has no authentication.",
        ),
    ] = False,
    until_found: Annotated[  # noqa: FBT002 - typer turns it into a flag
        bool,
        typer.Option(
            "--until-found",
            help="Stop at the first double allocation, or at what else the --defect causes.",
        ),
    ] = False,
    reports: choosing.Reports = pathlib.Path("reports"),
    force: choosing.Force = False,  # noqa: FBT002
    output: outputs.Form = "text",
    quiet: outputs.Quiet = False,  # noqa: FBT002
    verbose: outputs.Verbose = False,  # noqa: FBT002
) -> int:
    """Run a scenario once on its own cluster and judge it; exit code 0, 10 or 20 by verdict.

    flake-hunt run pod-churn --subject kube-scheduler=./kube-scheduler

    flake-hunt run pod-churn --defect gather-not-atomic
    """
    import json

    from harness import seeds
    from harness.cli.terminal import annotations, displaying, indexing
    from harness.cluster.lifecycle import held_clusters
    from harness.run import run_plan, runs
    from harness.scenario import loading
    from harness.traffic import launching

    changes = [*(override or ()), *launching.override(locustfile)]
    if workers is not None:
        changes.append(f"traffic.workers={workers}")
    if traffic_bind is not None:
        changes.append(f"traffic.bind={json.dumps(traffic_bind)}")
    if i_know_it_is_open:
        changes.append("traffic.bind_is_open=true")
    loaded = loading.load(scenario, overrides=changes, given_thresholds=threshold or ())
    held_clusters.prepare()
    traffic = loaded.scenario.traffic
    if not traffic.is_remote:
        _require_remote(
            {"--traffic-bind": traffic_bind is not None, "--i-know-it-is-open": i_know_it_is_open}
        )
        choosing.require_bearable("traffic.processes", traffic.processes, is_forced=force)
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
        binaries=choosing.folder(on.binaries),
        fault_carrier=on.fault_carrier,
    )
    with outputs.chosen(output, quiet=quiet, verbose=verbose) as out:
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


def _require_remote(given: Mapping[str, bool]) -> None:
    """Reject options of remote workers, which local ones would ignore."""
    from harness import errors

    for option, is_given in given.items():
        if is_given:
            raise errors.UsageError(
                f"expected {option} with --workers remote, got it with local workers: add --workers "
                f"remote, or leave {option} out"
            )
