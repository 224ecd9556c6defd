"""Plays a script once, for the commands that do."""

import pathlib
from typing import TYPE_CHECKING, Any

from harness.cli import choosing
from harness.cli.terminal import outputs

if TYPE_CHECKING:
    from harness.confirmation import answers
    from harness.scenario import loading


def play(
    loaded: "loading.Loaded",
    *,
    on: choosing.ClusterOptions,
    options: dict[str, Any],
    seeds: Any,
    reports: pathlib.Path,
    out: outputs.Output,
) -> "answers.Played":
    from harness.cli.terminal import displaying
    from harness.confirmation import answers
    from harness.run import run_plan, runs

    script = answers.script_of(loaded)
    chosen = list(on.subject or ())
    if len(chosen) == 1:
        chosen *= len(loaded.scenario.subject.schedulers)
    plan = run_plan.plan(
        loaded,
        seed=next(seeds),
        cluster=on.profile(),
        chosen_subjects=chosen,
        claim_controller=on.claim_controller,
        **options,
    )
    directory = runs.new_directory(plan, reports)
    with (
        displaying.keeping_evidence(directory.path),
        displaying.run_progress(out) as progress,
    ):
        judgement = runs.run(loaded, plan, directory, progress=progress)
    return answers.of_run(script, judgement, directory)
