"""`flake-hunt test`: is this program safe? A campaign, and one sentence."""

import dataclasses
import pathlib
import sys
from typing import Annotated

import typer

from harness.cli import choosing
from harness.cli.campaigns import (
    bisect_options,
    campaigning,
    program_options,
    run_selection,
)
from harness.cli.terminal import outputs

MINUTES = {"quick": 2.0, "default": 10.0}
"""Time budgets of the choices; the other ones make every run once or as often as --repeat says."""


Whole = Annotated[
    bool, typer.Option("--all", help="Every scenario that says something about the program.")
]


@choosing.with_groups
def test(
    options: program_options.ProgramOptions,
    place: choosing.PlaceOptions,
    selection: run_selection.SelectionOptions,
    bisecting: bisect_options.BisectOptions,
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
        int,
        typer.Option(
            min=1,
            max=choosing.REPEAT_MAX,
            help="Without a time budget: number of runs of each scenario.",
        ),
    ] = 2,
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
    from harness import clocks, seeds
    from harness.campaign import bisect_controls, budgets
    from harness.campaign.programs import rehearsals

    begun_ns = clocks.monotonic_ns()
    budgets.require(minutes)
    beside = {"--minutes": minutes, "--quick": options.is_quick, "--all": is_whole}
    beside |= {"--dry-run": selection.dry_run}
    step = bisecting.step(words or (), beside=beside)
    chosen = seeds.fresh() if seed is None else seed
    again = campaigning.command(sys.argv[1:], chosen, is_given=seed is not None)
    asked = dataclasses.replace(options, must_survive=["all"]) if step else options
    found = asked.identified(program, words or (), place=place, is_whole=is_whole)
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
        repeat=step.runs_max if step else 1 if budget else repeat,
        reports=reports,
        again=again,
    )
    plan = selection.chosen(plan)
    if step is not None:
        plan = bisect_options.planned(plan, step, reports)
    first = len(plan.runs)
    if budget:
        plan = budgets.planned(plan, budget, begun_ns=begun_ns, jobs=at_once)
    if selection.dry_run:
        return run_selection.show(
            plan, first=first, jobs=at_once, reports=reports, form=output, is_quiet=quiet
        )
    with outputs.chosen(output, quiet=quiet, verbose=verbose) as out:
        made = campaigning.make(plan, reports=reports, jobs=at_once, out=out)
        if out.is_json:
            out.document(made.document)
    campaigning.summarize_campaign(summary, made, plan)
    if made.exit_code == 0:
        bisect_controls.remember(reports, plan)
    return made.exit_code
