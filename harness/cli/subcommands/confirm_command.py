"""`flake-hunt confirm`: play the script of a finding on any program."""

import dataclasses
import functools
import itertools
import pathlib
from typing import TYPE_CHECKING

from harness import processes, seeds
from harness.cli import choosing, options, playing
from harness.cli.terminal import indexing, outputs

if TYPE_CHECKING:
    from harness.confirmation import answers, confirming

_REPEAT_MAX = 1000


@choosing.with_groups
def confirm(
    *,
    what: str = options.argument("Id of a finding such as H1, or script: a file or a shipped one."),
    on: choosing.RunOptions,
    form: outputs.OutputOptions,
    repeat: int = options.of("Number of plays of each script.", min=1, max=_REPEAT_MAX, default=1),
    write: pathlib.Path | None = options.of(
        "Copy the script into a new file, to change it; play nothing.", metavar="FILE"
    ),
    seed: int | None = choosing.SEED,
    override: list[str] | None = options.of(
        "Change a key that the script does not need: --set traffic.deadline_s=30 (may be repeated).",
        "--set",
        metavar="KEY=VALUE",
    ),
    reports: pathlib.Path = choosing.REPORTS,
) -> int:
    """Play the script of a finding on a program: does it do the same?

    `confirm` plays a script step by step, `replay` a token of `explore` exactly, and `reproduce`
    makes a run of yours small.

        flake-hunt confirm H1 --subject kube-scheduler=./kube-scheduler

    Exit code 10: confirmed, a check found the violation. 0: refuted, every step of the script
    happened, and nothing is violated.

    20: not followed, a step did not happen in its time. A script in a file is then tried without
    that step.
    """
    from harness.confirmation import chosen_scripts, confirming

    with form.chosen() as out:
        first_seed = seeds.fresh() if seed is None else seed
        found = chosen_scripts.chosen(what, overrides=override or ())
        if write is not None:
            chosen_scripts.write(found, write)
            print(f"Written: {write}")
            return 0
        for line in (*found.notes, *(chosen_scripts.steps(found) if out.is_verbose else ())):
            out.note(line)
        processes.prepare()
        out.note(f"seed {first_seed}")
        plays = playing.Plays(on, itertools.count(first_seed), reports, out)
        with indexing.refreshed(reports):
            outcome = confirming.confirm(
                found.scripts,
                plays.play,
                repeat=repeat,
                shortens=found.is_shortened,
                tell=functools.partial(_tell, out=out, is_repeated=repeat > 1),
            )
        _show(what, outcome, out)
    return outcome.answer.exit_code


def _tell(played: "answers.Played", *, out: outputs.Output, is_repeated: bool) -> None:
    """Below one play that was not followed are its last calls."""
    out.note(f"{played.script}: {played.sentence}  {played.page}")
    for call in () if is_repeated else played.last_calls:
        out.note(f"    {call}")


def _show(what: str, outcome: "confirming.Confirmation", out: outputs.Output) -> None:
    if out.is_json:
        plays = [
            dataclasses.asdict(item) | {"directory": item.directory.resolve()}
            for item in outcome.played
        ]
        out.document(
            {
                "schema": 1,
                "what": what,
                "answer": outcome.answer,
                "exit_code": outcome.answer.exit_code,
                "confirmed": outcome.rate.failed,
                "runs": outcome.rate.runs,
                "interval": outcome.rate.interval,
                "left_out": outcome.left_out,
                "plays": plays,
            }
        )
        return
    rate = str(outcome.rate).replace("failed", "confirmed", 1)
    without = f"; without: {'; '.join(outcome.left_out)}" if outcome.left_out else ""
    print(f"{what}: {outcome.answer}{f', {rate}' * (len(outcome.played) > 1)}{without}")
