"""`flake-hunt confirm`: play the script of a finding on any program."""

import dataclasses
import itertools
import pathlib
from typing import TYPE_CHECKING

from harness import processes, seeds
from harness.cli import choosing, options, playing
from harness.cli.terminal import indexing, outputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.confirmation import answers

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

    20: not followed, a step did not happen in its time, or there is too little evidence.
    """
    from harness.confirmation import answers, chosen_scripts

    with form.chosen() as out:
        first_seed = seeds.fresh() if seed is None else seed
        scripts = chosen_scripts.chosen(what, overrides=override or ())
        if write is not None:
            chosen_scripts.write(scripts, write)
            print(f"Written: {write}")
            return 0
        if (names := [script.scenario.name for script in scripts]) != [what]:
            out.note(f"{what}: {', '.join(names)}")
        for line in chosen_scripts.steps(scripts) if out.is_verbose else ():
            out.note(line)
        processes.prepare()
        out.note(f"seed {first_seed}")
        plays = playing.Plays(on, itertools.count(first_seed), reports, out)
        played: list[answers.Played] = []
        with indexing.refreshed(reports):
            for script in scripts:
                for _ in range(repeat):
                    played.append(plays.play(script))
                    _tell(played[-1], out=out, is_repeated=repeat > 1)
        answer = answers.of_all(played)
        _show(what, answer, played, out)
    return answer.exit_code


def _tell(played: "answers.Played", *, out: outputs.Output, is_repeated: bool) -> None:
    """Below one play that was not followed are its last calls."""
    out.note(f"{played.script}: {played.sentence}  {played.page}")
    for call in () if is_repeated else played.last_calls:
        out.note(f"    {call}")


def _show(
    what: str, answer: "answers.Answer", played: "Sequence[answers.Played]", out: outputs.Output
) -> None:
    from harness import rates

    confirmed = sum(item.answer == "confirmed" for item in played)
    rate = rates.Rate(confirmed, len(played))
    if out.is_json:
        plays = [
            dataclasses.asdict(item) | {"directory": item.directory.resolve()} for item in played
        ]
        out.document(
            {
                "schema": 1,
                "what": what,
                "answer": answer,
                "exit_code": answer.exit_code,
                "confirmed": rate.failed,
                "runs": rate.runs,
                "interval": rate.interval,
                "plays": plays,
            }
        )
        return
    told = str(rate).replace("failed", "confirmed", 1)
    print(f"{what}: {answer}{f', {told}' * (len(played) > 1)}")
