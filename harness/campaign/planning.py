"""Which runs a campaign makes, decided before the first one: campaign.json."""

import pathlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from harness import errors, seeds
from harness.cluster import providers
from harness.run import planning
from harness.scenario import loading, profiles

SCHEMA_VERSION = 1
CONTROL_ATTEMPTS = 3
"""A positive control that was missed is tried again, so often in all; every attempt counts in the table."""


class PlannedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run to be made."""

    scenario: str
    """Path or name."""
    title: str
    """The scenario's name, for tables."""
    defects: list[str]
    repetition: int
    seed: int

    @property
    def is_control(self) -> bool:
        """Whether a known defect is on, which must be found."""
        return bool(self.defects)

    @property
    def subject(self) -> str:
        """What is tested, for tables."""
        return ", ".join(self.defects) or "correct"

    @property
    def id(self) -> str:
        """Names the run within the campaign."""
        return f"{self.title}[{self.subject}]-{self.repetition}"


class CampaignPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Everything decided before the first run."""

    schema: int = SCHEMA_VERSION
    seed: int
    reports: str
    """Where the run directories go."""
    cluster: dict[str, Any]
    """The cluster profile after overrides, as a plain document; each worker has a cluster of its own."""
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
) -> CampaignPlan:
    """The runs of a campaign; ScenarioError or UsageError for what cannot be run.

    `defects` None: those that the scenarios name as their controls. `cluster` None: embedded ones.
    """
    planning.check_defects(defects or ())
    profile = cluster or profiles.load("embedded")
    providers.of(profile).check()
    random = seeds.Seeds(seed)
    runs = [
        run
        for name in scenarios
        for run in _runs(
            name, random, repeat=repeat, repeat_controls=repeat_controls, defects=defects
        )
    ]
    if not runs:
        raise errors.UsageError("expected at least one run: raise --repeat or --repeat-controls")
    longest_first = sorted(runs, key=lambda run: (run.is_control, run.repetition))
    return CampaignPlan(
        seed=seed,
        reports=str(reports.resolve()),
        cluster=profile.model_dump(mode="json"),
        runs=longest_first,
    )


def _runs(
    name: str,
    random: seeds.Seeds,
    *,
    repeat: int,
    repeat_controls: int,
    defects: Sequence[str] | None,
) -> Iterator[PlannedRun]:
    scenario = loading.load(name).scenario
    controls = scenario.controls if defects is None else defects
    planning.check_defects(controls)
    yield from _repeated(name, scenario.name, [], repeat, random)
    for defect in controls:
        yield from _repeated(name, scenario.name, [defect], repeat_controls, random)


def _repeated(
    path: str, title: str, defects: list[str], times: int, random: seeds.Seeds
) -> Iterable[PlannedRun]:
    return (
        PlannedRun(
            scenario=path,
            title=title,
            defects=defects,
            repetition=number,
            seed=random.derive(title, *defects, number),
        )
        for number in range(times)
    )


def write(path: pathlib.Path, plan: CampaignPlan) -> None:
    """Write campaign.json."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(plan), indent=2) + b"\n")


def read(path: pathlib.Path) -> CampaignPlan:
    """Read campaign.json; HistoryError when it is damaged."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=CampaignPlan)
    except (OSError, msgspec.DecodeError) as error:
        raise errors.HistoryError(f"{path}: expected the plan of a campaign ({error})") from error
