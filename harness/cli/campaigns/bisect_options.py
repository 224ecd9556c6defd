"""Options by which a test decides a step of a bisection."""

import dataclasses
import pathlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from harness import errors

if TYPE_CHECKING:
    from harness.campaign import bisection, campaign_plan

Bisect = Annotated[
    bool | None,
    typer.Option(
        "--bisect/--bisect-fix",
        rich_help_panel="Bisection",
        help="Decide a step of `git bisect run`: exit code 0 if enough runs are VALID, 1 as soon as one is INVALID, 125 if "
        "nothing can be said. --bisect-fix: search for the first revision without the defect; 0 and 1 the other way round.",
    ),
]
UntilDecided = Annotated[
    str,
    typer.Option(
        "--until-decided",
        metavar="RATE@CONFIDENCE",
        rich_help_panel="Bisection",
        help="The share of runs in which the defect shows, and the confidence of the whole search (default: 0.3@0.95).",
    ),
]
Steps = Annotated[
    int | None,
    typer.Option(
        "--bisect-steps",
        min=1,
        max=60,
        rich_help_panel="Bisection",
        help="Steps of the whole search (default: as git says; without git 10).",
    ),
]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class BisectOptions:
    """The options of a bisection."""

    bisect: Bisect = None
    until_decided: UntilDecided = ""
    bisect_steps: Steps = None

    def step(
        self, words: Sequence[str], *, beside: Mapping[str, object]
    ) -> "bisection.Step | None":
        """Return the step that is to be decided; None without a bisection.

        `words` begin with the scenarios; `beside` are options that have no place here, by name. A
        wrong command line is wrong at every revision, so it is a BadParameter, which ends the
        search.
        """
        if self.bisect is None:
            self._require_nothing()
            return None
        if not words or words[0].startswith("-"):
            raise typer.BadParameter(
                "expected --bisect with the scenario in which the defect shows, got none: name it after the program, such as "
                "pod-churn, or scenario.toml of the run that failed"
            )
        if given := [name for name, value in beside.items() if value]:
            raise typer.BadParameter(
                f"expected --bisect without {' and '.join(given)}, because its runs follow from the question: leave that out"
            )
        try:
            return self._step()
        except errors.UsageError as error:
            raise typer.BadParameter(str(error)) from error

    def _require_nothing(self) -> None:
        given = {"--until-decided": self.until_decided, "--bisect-steps": self.bisect_steps}
        if names := [name for name, value in given.items() if value]:
            raise typer.BadParameter(
                f"expected {' and '.join(names)} with --bisect or --bisect-fix, got neither: add one of them"
            )

    def _step(self) -> "bisection.Step":
        from harness.campaign import bisection, git_bisections, sequential_stopping

        question = sequential_stopping.question(self.until_decided) or bisection.QUESTION
        sought: bisection.Sought = "first bad" if self.bisect else "first good"
        found = git_bisections.read()
        known = found.known(sought) if found else {}
        if self.bisect_steps:
            known["steps"] = self.bisect_steps
        step = bisection.step(question, sought, **known)
        bisection.require(step, sequential_stopping.RUNS_MAX // 2)
        return step


def planned(
    plan: "campaign_plan.CampaignPlan", step: "bisection.Step", reports: pathlib.Path
) -> "campaign_plan.CampaignPlan":
    """Return the plan of a step; controls that an earlier step has caught are left out."""
    import msgspec

    from harness.campaign import bisect_controls

    runs = plan.runs
    if bisect_controls.are_caught(reports, plan, step):
        runs = [run for run in runs if not run.purpose.must_fail]
    return msgspec.structs.replace(plan, bisect_step=step, exit_first=True, runs=runs)
