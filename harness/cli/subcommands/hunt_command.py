"""`flake-hunt hunt`: the campaign that `make flake-hunt` runs."""

import dataclasses
import pathlib
import sys
from typing import TYPE_CHECKING

import typer

from harness import clocks, errors
from harness.cli import campaigning, choosing, options

if TYPE_CHECKING:
    from harness.campaign import campaign_plan

_MAKING = {each.name for each in dataclasses.fields(campaigning.MakingOptions)} - {"seed"}
_WITH_LAST_FAILED = _MAKING | {"last_failed", "minutes"}
"""Parameters that an earlier campaign has not decided."""
_WITH_PLAN = _MAKING - {"exit_first", "dry_run"} | {"plan", "shard"}
"""Parameters that a plan does not decide."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CampaignOptions(choosing.ClusterOptions):
    """The options that decide the runs."""

    scenario: list[str] | None = options.argument(
        "Scenario files, names of shipped scenarios, or `regress` for those that each show "
        "one known defect, or `confirm` for the scripts of findings (default: the three about races and two known hazards, about two minutes).",
        autocompletion=choosing.scenario_names,
        default=None,
    )
    is_whole: bool = options.flag("Run every shipped scenario.", "--all")
    repeat: int = options.of(
        "Number of runs of each scenario with the correct scheduler and with its remedies.",
        min=0,
        max=choosing.REPEAT_MAX,
        default=2,
    )
    repeat_controls: int = options.more(
        "Number of runs of each scenario with each of its known defects.",
        min=0,
        max=choosing.REPEAT_MAX,
        default=1,
    )
    defect: list[str] | None = options.of(
        "Use only this known defect as positive control (may be repeated)."
    )
    remedy: list[str] | None = options.of(
        "Give the Python subject this remedy in all runs except the controls (may be repeated).",
        autocompletion=choosing.remedy_names,
    )
    release: str = choosing.RELEASE
    threshold: list[str] | None = choosing.THRESHOLDS

    def planned(
        self, seed: int, *, reports: pathlib.Path, again: list[str]
    ) -> "campaign_plan.CampaignPlan":
        from harness.campaign import campaign_plan
        from harness.scenario import loading

        profile = self.profile()
        names = self._names()
        for name in names:
            processes = loading.load(name).scenario.traffic.processes
            choosing.require_bearable(f"traffic.processes of {name}", processes)
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

    def _names(self) -> list[str]:
        from harness.scenario import loading

        if self.scenario and self.is_whole:
            raise errors.UsageError(
                f"expected --all or names of scenarios, got both ({', '.join(self.scenario)}): remove one"
            )
        if self.scenario:
            return loading.expanded(self.scenario)
        return loading.SHELF.names() if self.is_whole else loading.plain_hunt_names()


@choosing.with_groups
def hunt(
    context: typer.Context,
    options: CampaignOptions,
    *,
    last_failed: bool = options.flag(
        "Make again what was not as expected in the newest campaign of --reports, with the same seeds; all of it, if "
        "nothing failed.",
        "--last-failed",
        "--lf",
    ),
    minutes: float | None = options.of(
        "Repeat the runs until this time is used. Runs that are under way then are cut, and all pages are written. If some "
        "kind of run had none, that one may take as long again.",
        callback=choosing.require_number,
    ),
    plan: pathlib.Path | None = options.more(
        "Make the runs of this plan, which `flake-hunt shards plan` wrote, instead of others.",
        metavar="FILE",
    ),
    shard: str | None = options.more(
        "With --plan: make this shard, as in 3/20, or `all` (default: what JOB_COMPLETION_INDEX or "
        "SLURM_ARRAY_TASK_ID says, else all). Started again, it makes the runs that are left.",
        metavar="I/N",
    ),
    making: campaigning.MakingOptions,
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
    When the time ends, the first run of a kind may take as long again. If some kind has no run even
    then, the outcome is 20, unless it is 10, and says how many minutes will do. A run that is cut
    counts only if it found what it looks for.

    With --plan and --shard, one shard of a campaign over many machines runs; see `shards
    plan --help`.
    """
    from harness.campaign import budgets, failed_runs
    from harness.scenario import profiles

    begun_ns = clocks.monotonic_ns()
    if plan is not None:
        alone = "--plan alone, because it has decided all runs (`flake-hunt shards plan` takes options of runs)"
        campaigning.require_no_other_options(context, _WITH_PLAN, alone)
        return making.perform_shard(plan, shard)
    if shard is not None:
        raise errors.UsageError(f"expected --plan FILE with --shard {shard}: name the plan's file")
    budgets.require(minutes)
    if last_failed:
        alone = "--last-failed alone, because it takes all other options from that campaign"
        campaigning.require_no_other_options(context, _WITH_LAST_FAILED, alone)
        campaign = failed_runs.planned(making.reports)
        minutes = minutes or campaign.minutes or None
    else:
        seed, again = making.seeded(sys.argv[1:])
        campaign = options.planned(seed, reports=making.reports, again=again)
    jobs = choosing.jobs(making.jobs, profiles.restore(campaign.cluster))
    return making.perform(campaign, minutes=minutes, begun_ns=begun_ns, jobs=jobs)
