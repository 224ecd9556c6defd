"""Makes one run, for the commands that do."""

import dataclasses
import pathlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from harness.cli import choosing
from harness.cli.terminal import outputs

if TYPE_CHECKING:
    from harness.checks import verdict_files
    from harness.confirmation import answers
    from harness.history import directories, plans
    from harness.scenario import loading


def made(
    loaded: "loading.Loaded", plan: "plans.Plan", reports: pathlib.Path, out: outputs.Output
) -> "tuple[directories.RunDirectory, verdict_files.Judgement]":
    from harness.cli.terminal import displaying
    from harness.run import runs

    directory = runs.new_directory(plan, reports)
    with (
        displaying.keeping_evidence(directory.path),
        displaying.run_progress(out) as progress,
    ):
        return directory, runs.run(loaded, plan, directory, progress=progress)


@dataclasses.dataclass(frozen=True, slots=True)
class Plays:
    """Plays scripts, each with the next seed; quiet unless the output is verbose."""

    on: choosing.RunOptions
    seeds: Iterator[int]
    reports: pathlib.Path
    out: outputs.Output

    def play(self, loaded: "loading.Loaded") -> "answers.Played":
        from harness.confirmation import answers

        on = self.on
        if len(on.subject or ()) == 1:
            alike = [*(on.subject or ())] * len(loaded.scenario.subject.schedulers)
            on = dataclasses.replace(on, subject=alike)
        out = self.out if self.out.is_verbose else dataclasses.replace(self.out, is_quiet=True)
        directory, judgement = made(loaded, on.planned(loaded, next(self.seeds)), self.reports, out)
        return answers.of_run(loaded, judgement, directory)
