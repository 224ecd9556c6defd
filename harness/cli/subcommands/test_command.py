"""`flake-hunt test`: is this program safe? A campaign, and one sentence."""

import dataclasses
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
import typer

from harness import clocks
from harness.cli import campaigning, choosing, options

if TYPE_CHECKING:
    import pathlib

    from harness.campaign import campaign_plan
    from harness.campaign.programs import tested_programs

MINUTES = {"quick": 2.0, "default": 10.0}
"""Time budgets of the choices; the other ones make every run once or as often as --repeat says."""
REPEAT, REPEAT_IN_BISECTION = 2, 15
"""Runs of each scenario without a time budget."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ProgramOptions(choosing.PlaceOptions):
    """The options about the program, and which scenarios it meets how often."""

    program: str = options.argument(
        "./kube-scheduler, kube-scheduler=PATH, a version such as 1.36.3 in KUBE_BINARIES, "
        "'python scheduler.py {kubeconfig} {scheduler_name}', python (our own), cluster, or a plug-in's name.",
        "PROGRAM",
    )
    words: list[str] | None = options.argument(
        "Scenarios instead of those that fit; after --, flags that are passed on to the program.",
        "SCENARIO",
        autocompletion=choosing.scenario_names,
        default=None,
    )
    repeat: int | None = options.of(
        f"Without a time budget: number of runs of each scenario (default: {REPEAT}).",
        min=1,
        max=choosing.REPEAT_MAX,
    )
    is_quick: bool | None = options.of(
        "About two minutes, with fewer scenarios and one known bug as control; or every "
        "scenario that says something about the program.",
        "--quick/--all",
        show_default=False,
    )
    must_survive: list[str] | None = options.of(
        "Count this known hazard, such as H1, as a violation, because the program is said to be mended (may be "
        "repeated; `all`: every one).",
        metavar="HAZARD",
    )

    def identified(self) -> "tested_programs.TestedProgram":
        from harness.campaign.programs import identifying, program_plans

        must_survive = program_plans.require_hazards(self.must_survive or ())
        folder = getattr(self.profile(), "binaries", "")
        scenarios, flags = self._divided()
        found = identifying.identify(self.program, flags, folder)
        choice = {None: "default", True: "quick", False: "all"}[self.is_quick]
        return msgspec.structs.replace(
            found, choice="chosen" if scenarios else choice, must_survive=must_survive
        )

    def planned(
        self,
        seed: int,
        *,
        reports: "pathlib.Path",
        again: list[str],
        program: "tested_programs.TestedProgram | None" = None,
        repeat: int | None = None,
    ) -> "campaign_plan.CampaignPlan":
        from harness.campaign.programs import program_plans
        from harness.scenario import loading

        return program_plans.plan(
            program or self.identified(),
            loading.expanded(self._divided()[0]),
            seed=seed,
            repeat=repeat or self.repeat or REPEAT,
            reports=reports,
            cluster=self.profile(),
            claim_controller=self.claim_controller,
            again=again,
        )

    def _divided(self) -> tuple[list[str], list[str]]:
        words = self.words or []
        first = next((at for at, word in enumerate(words) if word.startswith("-")), len(words))
        return words[:first], words[first:]


@choosing.with_groups
def test(
    options: ProgramOptions,
    *,
    minutes: float | None = options.of(
        "Time budget (default: 10, with --quick 2, else none). On a slow machine the first run of each kind may take as "
        "long again.",
        callback=choosing.require_number,
    ),
    bisect: bool | None = options.of(
        f"Decide a step of `git bisect run`: exit code 0 if all runs (--repeat, default {REPEAT_IN_BISECTION}) are VALID, "
        "1 as soon as one is INVALID, 125 if nothing can be said. --bisect-fix: search for the first revision without the "
        "defect; 0 and 1 the other way round.",
        "--bisect/--bisect-fix",
        rich_help_panel="Bisection",
    ),
    making: campaigning.MakingOptions,
) -> int:
    """Is this scheduler safe? Tests a program, and says it in one sentence.

    `run` makes one run, `hunt` a campaign of many with controls, and `test` asks this question.

    The scenarios that fit the program are repeated until the time is used. The program is also
    asked for the known hazards of today's Kubernetes: to have one of them decides nothing, unless
    --must-survive names it. Known bugs, with our own scheduler, are the controls: each of them
    must be caught.

    Exit code 0: no violation was found, and every control caught. 10: a violation was found. 20:
    inconclusive; the sentence says why.

        flake-hunt test ./kube-scheduler

        flake-hunt test --quick 'python scheduler.py {kubeconfig} {scheduler_name}'

        flake-hunt test ./kube-scheduler -- --feature-gates=DRAExtendedResource=true
    """
    from harness.campaign import budgets
    from harness.campaign.programs import rehearsals

    begun_ns = clocks.monotonic_ns()
    budgets.require(minutes)
    repeat = options.repeat or (REPEAT if bisect is None else REPEAT_IN_BISECTION)
    if bisect is not None:
        beside = {"--minutes": minutes, "--dry-run": making.dry_run}
        beside |= {"--quick": options.is_quick, "--all": options.is_quick is False}
        _require_a_step(options.words or (), beside)
        options = dataclasses.replace(options, must_survive=["all"])
        making = dataclasses.replace(making, exit_first=True)
    seed, again = making.seeded(sys.argv[1:])
    found = options.identified()
    jobs = choosing.jobs(making.jobs, options.profile(), leaves_room=True)
    if not making.dry_run:
        with making.chosen() as out:
            found = rehearsals.rehearsed(found, options.profile(), say=out.note)
    budget = minutes or MINUTES.get(found.choice, 0)
    repeat = 1 if budget else repeat
    plan = options.planned(seed, reports=making.reports, again=again, program=found, repeat=repeat)
    return making.perform(plan, minutes=budget, begun_ns=begun_ns, jobs=jobs)


def _require_a_step(words: Sequence[str], beside: Mapping[str, object]) -> None:
    """BadParameter ends the search: the mistake would be the same at every revision."""
    if not words or words[0].startswith("-"):
        raise typer.BadParameter(
            "expected --bisect with the scenario in which the defect shows, got none: name it after the program, such as "
            "pod-churn, or scenario.toml of the run that failed"
        )
    if given := [name for name, value in beside.items() if value]:
        raise typer.BadParameter(
            f"expected --bisect without {' and '.join(given)}, because its runs are those of the scenario: leave that out"
        )
