"""`flake-hunt reproduce`: from an INVALID run to a folder for a Kubernetes issue."""

import pathlib
from typing import TYPE_CHECKING, Any

from harness import errors
from harness.cli import choosing, options, run_paths
from harness.cli.terminal import outputs

if TYPE_CHECKING:
    from harness.reproduction import reproducing

NOT_REPRODUCED = 20
"""Exit code if the run did not fail again."""


@choosing.with_groups
def reproduce(
    *,
    directory: pathlib.Path = options.argument(
        "Folder of one run, or a pack with one.", "RUN_DIR", callback=run_paths.only
    ),
    on: choosing.ProfileOptions,
    form: outputs.OutputOptions,
    minutes: float = options.of(
        "Time to look for a smaller scenario; the runs that measure its rate come after it.",
        min=0,
        max=10_000,
        callback=choosing.require_number,
        default=10.0,
    ),
    into: pathlib.Path | None = options.of(
        "Folder to write, new or empty (default: one in reports/reproductions).", "-o", "--into"
    ),
    reports: pathlib.Path = choosing.REPORTS,
) -> int:
    """Shrink an INVALID run to the smallest scenario that fails; write a folder for an issue.

    `reproduce` makes a run small, `replay` repeats a token of `explore` exactly, and `confirm`
    plays the script of a known finding. --cluster reproduces on another cluster than that of the
    run.

    The folder has the scenario, and a README with the versions, the commands, the rate
    of failures, and the evidence of one failure; no tokens and no paths of this machine.

    Exit code 0: reproduced.

    20: the scenario did not fail again.
    """
    from harness.cli.terminal import displaying
    from harness.reproduction import reproducing

    options = reproducing.Options(
        minutes=minutes,
        folder=into,
        reports=reports,
        profile=on.profile() if on.cluster else None,
    )
    with form.chosen() as out:
        with displaying.status("reading the run", out) as show:
            outcome = reproducing.reproduce(directory, options, note=out.note, show=show)
        if out.is_json and not outcome.is_interrupted:
            out.document(_document(outcome))
        elif not out.is_json:
            _show(outcome, out)
    if outcome.is_interrupted:
        raise errors.InterruptionError(
            f"interrupted; the smallest scenario so far is in {outcome.folder}"
        )
    return _exit_code(outcome)


def _exit_code(outcome: "reproducing.Outcome") -> int:
    return 0 if outcome.folder is not None else NOT_REPRODUCED


def _show(outcome: "reproducing.Outcome", out: outputs.Output) -> None:
    from harness.reproduction import issue_texts

    if outcome.scenario is None:
        print(f"not reproduced in {outputs.counted(outcome.runs, 'run')}")
        return
    print(f"reproduced: {issue_texts.sizes(outcome.scenario)}; {outcome.rate}")
    out.note(f"  {outcome.folder}")


def _document(outcome: "reproducing.Outcome") -> dict[str, Any]:
    return {
        "schema": 1,
        "exit_code": _exit_code(outcome),
        "all_runs": outcome.runs,
        "failed": outcome.rate.failed,
        "runs": outcome.rate.runs,
        "interval": outcome.rate.interval,
        "scenario": outcome.scenario.model_dump(mode="json") if outcome.scenario else None,
        "directory": outcome.folder and outcome.folder.resolve(),
    }
