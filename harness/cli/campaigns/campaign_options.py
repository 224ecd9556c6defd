"""Options that decide the runs of a campaign, and the campaign's plan made from them."""

import dataclasses
import pathlib
from typing import TYPE_CHECKING, Annotated

import typer

from harness import errors
from harness.cli import choosing

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
    """The options of `hunt` and `plan`."""

    scenario: Scenarios = None
    is_whole: Whole = False
    repeat: Repeat = 2
    repeat_controls: RepeatControls = 1
    defect: Controls = None
    remedy: Remedies = None
    release: choosing.Release = ""
    threshold: choosing.Thresholds = None
    seed: choosing.Seed = None
    force: choosing.Force = False

    def planned(
        self,
        seed: int,
        *,
        reports: pathlib.Path,
        again: list[str],
        locustfile: str = "",
    ) -> "campaign_plan.CampaignPlan":
        """Return the plan of the campaign that the options describe.

        Raises UsageError or ScenarioError for a campaign that cannot work.
        """
        from harness.campaign import campaign_plan

        profile = self.profile()
        names = _names(self.scenario, is_whole=self.is_whole)
        _require_bearable(names, is_forced=self.force)
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
            binaries=choosing.folder(self.binaries),
            fault_carrier=self.fault_carrier,
            defects=self.defect or None,
            again=again,
            locustfile=locustfile,
            thresholds=self.threshold or (),
            leaves_out=not self.scenario,
        )


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


def _require_bearable(names: list[str], *, is_forced: bool) -> None:
    from harness.scenario import loading

    for name in names:
        processes = loading.load(name).scenario.traffic.processes
        choosing.require_bearable(f"traffic.processes of {name}", processes, is_forced=is_forced)
