"""Which runs a campaign makes, decided before the first one: campaign.json."""

import pathlib
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from harness import errors, seeds, writing
from harness.run import run_plan
from harness.scenario import loading, profiles

SCHEMA_VERSION = 1
CORRECT = "correct"
PYTHON = "python"
CONTROL_ATTEMPTS = 3
"""A positive control that was missed is tried again, so often in all; every attempt counts in the table."""


class PlannedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run to be made."""

    scenario: str
    """Path or name."""
    title: str
    """The scenario's name, for tables."""
    defects: list[str]
    subjects: list[str] = []
    """Schedulers instead of the scenario's; empty: the scenario's. A control is always the Python subject, whose defects they are."""
    repetition: int
    seed: int

    @property
    def is_control(self) -> bool:
        """Whether a known defect is on, which must be found."""
        return bool(self.defects)

    @property
    def subject(self) -> str:
        """What is tested, for tables."""
        return ", ".join(self.defects) or " + ".join(self.subjects) or CORRECT

    @property
    def id(self) -> str:
        """Names the run within the campaign, as pytest names a test: the brackets end the name."""
        return f"{self.title}[{self.subject}-{self.repetition}]"


class CampaignPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Everything decided before the first run."""

    schema: int = SCHEMA_VERSION
    seed: int
    reports: str
    """Where the run directories go."""
    cluster: dict[str, Any]
    """The cluster profile after overrides, as a plain document; each worker has a cluster of its own."""
    binaries: str = ""
    """The folder of a kube-scheduler; empty: where envtest looks."""
    runs: list[PlannedRun]


def plan(
    scenarios: Sequence[str],
    *,
    seed: int,
    repeat: int,
    repeat_controls: int,
    reports: pathlib.Path,
    cluster: profiles.Profile | None = None,
    defects: Sequence[str] | None = None,
    subjects: Sequence[str] = (),
    binaries: str = "",
) -> CampaignPlan:
    """The runs of a campaign; ScenarioError or UsageError for what cannot be run.

    `defects` None: those that the scenarios name as their controls. `cluster` None: embedded ones. `subjects` replace the schedulers
    of the scenarios in all runs but the controls.
    """
    run_plan.check_defects(defects or ())
    profile = cluster or profiles.load("embedded")
    random = seeds.Seeds(seed)
    runs: list[PlannedRun] = []
    for name in scenarios:
        loaded = loading.load(name)
        run_plan.plan(
            loaded, seed=seed, cluster=profile, chosen_subjects=subjects, binaries=binaries
        )
        chosen = loaded.scenario.controls if defects is None else defects
        run_plan.check_defects(chosen)
        title = loaded.scenario.name
        runs += _repeated(name, title, [], repeat, random, subjects)
        for defect in chosen:
            runs += _repeated(name, title, [defect], repeat_controls, random, [PYTHON])
    if not runs:
        raise errors.UsageError("expected at least one run: raise --repeat or --repeat-controls")
    longest_first = sorted(runs, key=lambda run: (run.is_control, run.repetition))
    return CampaignPlan(
        seed=seed,
        reports=str(reports.resolve()),
        cluster=profile.model_dump(mode="json"),
        binaries=binaries,
        runs=longest_first,
    )


def _repeated(
    path: str,
    title: str,
    defects: list[str],
    times: int,
    random: seeds.Seeds,
    subjects: Sequence[str],
) -> Iterable[PlannedRun]:
    return (
        PlannedRun(
            scenario=path,
            title=title,
            defects=defects,
            subjects=list(subjects),
            repetition=number,
            seed=random.derive(title, *defects, number),
        )
        for number in range(times)
    )


def write(path: pathlib.Path, plan: CampaignPlan) -> None:
    """Write campaign.json."""
    writing.replace(path, msgspec.json.format(msgspec.json.encode(plan), indent=2) + b"\n")


def read(path: pathlib.Path) -> CampaignPlan:
    """Read campaign.json; HistoryError when it is damaged."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=CampaignPlan)
    except (OSError, msgspec.DecodeError) as error:
        raise errors.HistoryError(f"{path}: expected the plan of a campaign ({error})") from error
