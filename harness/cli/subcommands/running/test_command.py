"""`flake-hunt test`: is this program safe? A campaign, and one sentence."""

import dataclasses
import pathlib
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from harness.cli import choosing
from harness.cli.campaigns import campaigning, program_options, run_selection
from harness.cli.terminal import outputs

MINUTES = {"quick": 2.0, "default": 10.0}
"""Time budgets of the choices; the other ones make every run once or as often as --repeat says."""
REPEAT, REPEAT_IN_BISECTION = 2, 15
"""Runs of each scenario without a time budget."""
Whole = Annotated[
    bool, typer.Option("--all", help="Every scenario that says something about the program.")
]
Bisect = Annotated[
    bool | None,
    typer.Option(
        "--bisect/--bisect-fix",
        rich_help_panel="Bisection",
        help=f"Decide a step of `git bisect run`: exit code 0 if all runs (--repeat, default {REPEAT_IN_BISECTION}) are VALID, "
        "1 as soon as one is INVALID, 125 if nothing can be said. --bisect-fix: search for the first revision without the "
        "defect; 0 and 1 the other way round.",
    ),
]


@choosing.with_groups
def test(
    options: program_options.ProgramOptions,
    place: choosing.PlaceOptions,
    selection: run_selection.SelectionOptions,
    program: Annotated[
        str,
        typer.Argument(
            metavar="PROGRAM",
            help="./kube-scheduler, kube-scheduler=PATH, a version such as 1.36.3 in KUBE_BINARIES, "
            "'python scheduler.py {kubeconfig} {scheduler_name}', python (our own), cluster, or a plug-in's name.",
        ),
    ],
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SCENARIO",
            autocompletion=choosing.scenario_names,
            help="Scenarios instead of those that fit; after --, flags that are passed on to the program.",
        ),
    ] = None,
    is_whole: Whole = False,  # noqa: FBT002
    minutes: Annotated[
        float | None,
        typer.Option(
            callback=choosing.require_number,
            help="Time budget (default: 10, with --quick 2, else none). On a slow machine twice the time is used if that is enough for "
            "one run of each kind.",
        ),
    ] = None,
    repeat: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=choosing.REPEAT_MAX,
            help=f"Without a time budget: number of runs of each scenario (default: {REPEAT}).",
        ),
    ] = None,
    bisect: Bisect = None,
    seed: choosing.Seed = None,
    jobs: choosing.Jobs = None,
    force: choosing.Force = False,  # noqa: FBT002
    summary: choosing.Summary = None,
    reports: choosing.Reports = pathlib.Path("reports"),
    output: outputs.Form = "text",
    quiet: outputs.Quiet = False,  # noqa: FBT002
    verbose: outputs.Verbose = False,  # noqa: FBT002
) -> int:
    """Is this scheduler safe? Tests a program, and says it in one sentence.

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
    import msgspec

    from harness import clocks, seeds
    from harness.campaign import budgets
    from harness.campaign.programs import rehearsals

    begun_ns = clocks.monotonic_ns()
    budgets.require(minutes)
    if bisect is not None:
        beside = {"--minutes": minutes, "--quick": options.is_quick, "--all": is_whole}
        _require_a_step(words or (), beside | {"--dry-run": selection.dry_run})
        options = dataclasses.replace(options, must_survive=["all"])
        selection = dataclasses.replace(selection, exit_first=True)
    chosen = seeds.fresh() if seed is None else seed
    again = campaigning.command(sys.argv[1:], chosen, is_given=seed is not None)
    found = options.identified(program, words or (), place=place, is_whole=is_whole)
    at_once = choosing.jobs(jobs, place.profile(), is_forced=force, leaves_room=True)
    if not selection.dry_run:
        with outputs.chosen(output, quiet=quiet, verbose=verbose) as out:
            found = rehearsals.rehearsed(
                found, place.profile(), choosing.folder(place.binaries), say=out.note
            )
    budget = minutes or MINUTES.get(found.choice, 0)
    plan = program_options.planned(
        found,
        words or (),
        place=place,
        seed=chosen,
        repeat=1 if budget else repeat or (REPEAT if bisect is None else REPEAT_IN_BISECTION),
        reports=reports,
        again=again,
    )
    plan = msgspec.structs.replace(plan, exit_first=selection.exit_first)
    first = len(plan.runs)
    if budget:
        plan = budgets.planned(plan, budget, begun_ns=begun_ns, jobs=at_once)
    if selection.dry_run:
        return run_selection.show(plan, first=first, jobs=at_once, form=output, is_quiet=quiet)
    with outputs.chosen(output, quiet=quiet, verbose=verbose) as out:
        made = campaigning.make(plan, reports=reports, jobs=at_once, out=out)
        if out.is_json:
            out.document(made.document)
    campaigning.summarize_campaign(summary, made, plan)
    return made.exit_code


def _require_a_step(words: Sequence[str], beside: Mapping[str, object]) -> None:
    """Raise BadParameter, which ends the search: the mistake would be the same at every revision.

    `words` begin with the scenarios; `beside` are options that have no place here, by name.
    """
    if not words or words[0].startswith("-"):
        raise typer.BadParameter(
            "expected --bisect with the scenario in which the defect shows, got none: name it after the program, such as "
            "pod-churn, or scenario.toml of the run that failed"
        )
    if given := [name for name, value in beside.items() if value]:
        raise typer.BadParameter(
            f"expected --bisect without {' and '.join(given)}, because its runs are those of the scenario: leave that out"
        )
