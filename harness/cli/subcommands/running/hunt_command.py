"""`flake-hunt hunt`: the campaign that `make flake-hunt` runs."""

import dataclasses
import pathlib
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from harness import errors
from harness.cli import choosing
from harness.cli.campaigns import campaigning, planned_hunts, run_selection
from harness.cli.terminal import outputs

if TYPE_CHECKING:
    from harness.campaign import campaign_plan

Scenarios = Annotated[
    list[str] | None,
    typer.Argument(
        autocompletion=choosing.scenario_names,
        help="Scenario files, names of shipped scenarios, or `regress` for those that each show "
        "one known defect, or `confirm` for the scripts of findings (default: the three about races and two known hazards, about two minutes).",
    ),
]
Whole = Annotated[bool, typer.Option("--all", help="Run every shipped scenario.")]
Repeat = Annotated[
    int,
    typer.Option(
        min=0,
        max=choosing.REPEAT_MAX,
        help="Number of runs of each scenario with the correct scheduler and with its remedies.",
    ),
]
RepeatControls = Annotated[
    int,
    typer.Option(
        min=0,
        max=choosing.REPEAT_MAX,
        rich_help_panel=choosing.MORE,
        help="Number of runs of each scenario with each of its known defects.",
    ),
]
Controls = Annotated[
    list[str] | None,
    typer.Option(
        "--defect", help="Use only this known defect as positive control (may be repeated)."
    ),
]
Remedies = Annotated[
    list[str] | None,
    typer.Option(
        "--remedy",
        autocompletion=choosing.remedy_names,
        help="Give the Python subject this remedy in all runs except the controls (may be repeated).",
    ),
]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CampaignOptions(choosing.ClusterOptions):
    """The options that decide the runs."""

    scenario: Scenarios = None
    is_whole: Whole = False
    repeat: Repeat = 2
    repeat_controls: RepeatControls = 1
    defect: Controls = None
    remedy: Remedies = None
    release: choosing.Release = ""
    threshold: choosing.Thresholds = None
    seed: choosing.Seed = None

    def planned(
        self,
        seed: int,
        *,
        reports: pathlib.Path,
        again: list[str],
    ) -> "campaign_plan.CampaignPlan":
        """Return the plan of the campaign that the options describe.

        Raises UsageError or ScenarioError for a campaign that cannot work.
        """
        from harness.campaign import campaign_plan
        from harness.scenario import loading

        profile = self.profile()
        names = _names(self.scenario, is_whole=self.is_whole)
        _require_bearable(names)
        return campaign_plan.plan(
            names,
            seed=seed,
            repeat=self.repeat,
            repeat_controls=self.repeat_controls,
            reports=reports,
            cluster=profile,
            subjects=self.subject or (),
            claim_controller=self.claim_controller,
            remedies=self.remedy or (),
            release=self.release,
            defects=self.defect or None,
            again=again,
            thresholds=self.threshold or (),
            leaves_out=not self.scenario or loading.CONFIRM in self.scenario,
        )


@choosing.with_groups
def hunt(
    context_of_options: typer.Context,
    options: CampaignOptions,
    selection: run_selection.SelectionOptions,
    form: outputs.OutputOptions,
    last_failed: run_selection.LastFailed = False,  # noqa: FBT002
    minutes: Annotated[
        float | None,
        typer.Option(
            callback=choosing.require_number,
            help="Repeat the runs until this time is used. Runs that are under way then are cut, and all pages are written. If some "
            "kind of run had none, that one may take as long again.",
        ),
    ] = None,
    jobs: choosing.Jobs = None,
    plan: Annotated[
        pathlib.Path | None,
        typer.Option(
            "--plan",
            metavar="FILE",
            rich_help_panel=choosing.MORE,
            help="Make the runs of this plan, which `flake-hunt shards plan` wrote, instead of others.",
        ),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(
            "--shard",
            metavar="I/N",
            rich_help_panel=choosing.MORE,
            help="With --plan: make this shard, as in 3/20, or `all` (default: what JOB_COMPLETION_INDEX or "
            "SLURM_ARRAY_TASK_ID says, else all). Started again, it makes the runs that are left.",
        ),
    ] = None,
    summary: choosing.Summary = None,
    reports: choosing.Reports = pathlib.Path("reports"),
) -> int:
    """Run scenarios with the correct scheduler, and with each known defect as a control.

    `run` makes one run, `hunt` a campaign of many with controls, and `test` asks one question of
    your scheduler: is it safe? Examples:

        flake-hunt hunt --subject kube-scheduler=./kube-scheduler

        flake-hunt hunt 'claim-*' --dry-run

        flake-hunt hunt --last-failed --exit-first

    A hazard is a scenario in which the correct scheduler, like kube-scheduler, is known to fail. It
    must fail without its remedies and be valid with them.

    Exit code 0: every run of the correct scheduler was valid, every control caught, every hazard
    shown.

    10: a run of the correct scheduler, or one with remedies, was invalid.

    20: inconclusive (for example, a control was not caught).

    With --minutes, the first round makes every run, and the next ones all but the controls again.
    When the time ends, the first run of a kind may take as long again, if that is likely to be
    enough for all kinds. If some kind has no run even then, the outcome is 20, unless it is 10, and
    says how many minutes will do. A run that is cut counts only if it found what it looks for.

    With --plan and --shard, one shard of a campaign over many machines runs; see `shards
    plan --help`.
    """
    import msgspec

    from harness import clocks, seeds
    from harness.campaign import budgets
    from harness.scenario import profiles

    begun_ns = clocks.monotonic_ns()
    if plan is not None:
        planned_hunts.require_no_other_options(context_of_options)
        with form.chosen() as out:
            return planned_hunts.hunt(
                plan,
                shard,
                jobs=jobs,
                reports=reports,
                summary=summary,
                out=out,
            )
    if shard is not None:
        raise errors.UsageError(f"expected --plan FILE with --shard {shard}: name the plan's file")
    budgets.require(minutes)
    chosen = seeds.fresh() if options.seed is None else options.seed
    again = campaigning.command(sys.argv[1:], chosen, is_given=options.seed is not None)
    if last_failed:
        campaign = run_selection.failed_again(context_of_options, reports)
        minutes = minutes or campaign.minutes or None
    else:
        campaign = options.planned(chosen, reports=reports, again=again)
    campaign = msgspec.structs.replace(campaign, exit_first=selection.exit_first)
    at_once = choosing.jobs(jobs, profiles.restore(campaign.cluster))
    first = len(campaign.runs)
    if minutes is not None:
        campaign = budgets.planned(campaign, minutes, begun_ns=begun_ns, jobs=at_once)
    if selection.dry_run:
        return run_selection.show(campaign, first=first, jobs=at_once, form=form)
    with form.chosen() as out:
        for text in campaign.selection:
            out.note(text)
        made = campaigning.make(campaign, reports=reports, jobs=at_once, out=out)
        if out.is_json:
            out.document(made.document)
    campaigning.summarize(summary, made.document)
    return made.exit_code


def _names(given: list[str] | None, *, is_whole: bool) -> list[str]:
    """Return the names of the scenarios; raise UsageError for names and --all together."""
    from harness.scenario import loading

    if given and is_whole:
        raise errors.UsageError(
            f"expected --all or names of scenarios, got both ({', '.join(given)}): remove one"
        )
    if given:
        return loading.expanded(given)
    return loading.shipped_names() if is_whole else loading.plain_hunt_names()


def _require_bearable(names: list[str]) -> None:
    from harness.scenario import loading

    for name in names:
        processes = loading.load(name).scenario.traffic.processes
        choosing.require_bearable(f"traffic.processes of {name}", processes)
