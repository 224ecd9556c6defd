"""The runs of a campaign, decided before the first of them: campaign.json."""

import pathlib
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from harness import errors, seeds, writing
from harness.run import run_plan
from harness.scenario import loading, profiles
from harness.subject import defects as known_defects

SCHEMA_VERSION = 1
CORRECT = "correct"
"""Name in tables for the subject without defects."""
PYTHON = "python"
"""The subject of positive controls, as `--subject` takes it."""
CONTROL_ATTEMPTS = 3
"""Maximum number of attempts to catch a positive control; each attempt counts in the table."""


class PlannedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run to be executed."""

    scenario: str
    """Path or name of the scenario."""
    title: str
    """The scenario's name, for tables."""
    defects: list[str]
    subjects: list[str] = []
    """Schedulers that replace the scenario's; empty: the scenario's own.

    A control always uses the Python subject, because the known defects are defects of that.
    """
    remedies: list[str] = []
    """Remedies of the Python scheduler; a control has none."""
    repetition: int
    seed: int

    @property
    def is_control(self) -> bool:
        """True if a known defect is enabled, which the run must find."""
        return bool(self.defects)

    @property
    def subject(self) -> str:
        """The subject, for tables."""
        base = " + ".join(self.subjects) or (PYTHON if self.remedies else CORRECT)
        return " + ".join([", ".join(self.defects) or base, *self.remedies])

    @property
    def id(self) -> str:
        """Identifies the run within the campaign, in pytest's form: `name[parameters]`."""
        return f"{self.title}[{self.subject}-{self.repetition}]"


class CampaignPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is decided before the first run."""

    schema: int = SCHEMA_VERSION
    seed: int
    reports: str
    """Folder of the run directories."""
    cluster: dict[str, Any]
    """The cluster profile after overrides, as a plain document; each worker has its own cluster."""
    binaries: str = ""
    """The folder of a kube-scheduler; empty: where envtest installs it."""
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
    remedies: Sequence[str] = (),
    binaries: str = "",
) -> CampaignPlan:
    """Return the plan of a campaign.

    `defects` None: the controls that the scenarios name. `cluster` None: embedded clusters.
    `subjects` replace the schedulers of the scenarios in all runs except the controls; `remedies`
    change the Python scheduler in these runs. Raises ScenarioError or UsageError for runs that
    cannot work.
    """
    known_defects.require_known(defects or ())
    profile = cluster or profiles.load("embedded")
    random = seeds.Seeds(seed)
    runs: list[PlannedRun] = []
    for name in scenarios:
        loaded = loading.load(name)
        run_plan.plan(
            loaded,
            seed=seed,
            remedies=remedies,
            cluster=profile,
            chosen_subjects=subjects,
            binaries=binaries,
        )
        chosen = loaded.scenario.controls if defects is None else defects
        known_defects.require_known(chosen)
        title = loaded.scenario.name
        runs += _repeated(name, title, [], repeat, random, subjects, remedies)
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
    remedies: Sequence[str] = (),
) -> Iterable[PlannedRun]:
    return (
        PlannedRun(
            scenario=path,
            title=title,
            defects=defects,
            subjects=list(subjects),
            remedies=list(remedies),
            repetition=number,
            seed=random.derive(title, *defects, number),
        )
        for number in range(times)
    )


def write(path: pathlib.Path, plan: CampaignPlan) -> None:
    """Write campaign.json."""
    writing.replace(path, msgspec.json.format(msgspec.json.encode(plan), indent=2) + b"\n")


def read(path: pathlib.Path) -> CampaignPlan:
    """Read campaign.json.

    Raises HistoryError if it cannot be read or decoded.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=CampaignPlan)
    except (OSError, msgspec.DecodeError) as error:
        raise errors.HistoryError(f"{path}: expected the plan of a campaign ({error})") from error
