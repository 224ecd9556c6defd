"""`flake-hunt run`: make one run and judge it."""

import pathlib
from typing import Literal

from harness import processes, seeds
from harness.cli import choosing, options, playing
from harness.cli.terminal import annotations, indexing, outputs


@choosing.with_groups
def run(
    *,
    scenario: str = options.argument(
        "Scenario file, or name of a shipped scenario; its \\[\\[faults]] break something on purpose.",
        autocompletion=choosing.scenario_names,
    ),
    on: choosing.RunOptions,
    form: outputs.OutputOptions,
    seed: int | None = choosing.SEED,
    override: list[str] | None = options.of(
        "Change a key of the scenario: --set traffic.users=8 (may be repeated).",
        "--set",
        metavar="KEY=VALUE",
    ),
    threshold: list[str] | None = choosing.THRESHOLDS,
    fault_carrier: Literal["auto", "server", "proxy"] = options.more(
        "Where faults of API calls and watches are injected: in the embedded API server (server), or in a "
        "proxy before any API server; auto: server on an embedded cluster, else proxy.",
        default="auto",
    ),
    until_found: bool = options.flag(
        "Stop at the first double allocation, or at what else the --defect causes.", "--until-found"
    ),
    reports: pathlib.Path = choosing.REPORTS,
) -> int:
    """Run one scenario once and judge it; exit code 0, 10 or 20 by verdict.

    `run` makes one run, `hunt` a campaign of many with controls, and `test` asks one question of
    your scheduler: is it safe?

    flake-hunt run pod-churn --subject kube-scheduler=./kube-scheduler

    flake-hunt run pod-churn --defect gather-not-atomic
    """
    from harness.cli.terminal import displaying
    from harness.scenario import loading

    loaded = loading.load(scenario, overrides=override or (), given_thresholds=threshold or ())
    processes.prepare()
    choosing.require_bearable("traffic.processes", loaded.scenario.traffic.processes)
    chosen = seeds.fresh() if seed is None else seed
    plan = on.planned(loaded, chosen, until_found=until_found, fault_carrier=fault_carrier)
    with form.chosen() as out:
        out.note(f"seed {chosen}")
        with indexing.refreshed(reports):
            directory, judgement = playing.made(loaded, plan, reports, out)
        displaying.show(judgement, directory, out=out)
        annotations.of_judgement(judgement)
    return judgement.exit_code
