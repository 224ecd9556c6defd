"""The cells of the table: each question with each release of its program, and the runs it needs."""

import functools
import hashlib
import pathlib
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from harness import clocks, errors, seeds
from harness.campaign import campaign_plan
from harness.campaign.releases import ledgers, programs, questions
from harness.cluster.local import binaries
from harness.run import run_plan
from harness.scenario import loading, profiles

_EMBEDDED_SERVER = "the API server of this cluster is not one of Kubernetes"


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """A question that a release is asked."""

    question: questions.Question
    release: programs.Release
    key: ledgers.Key
    schedulers: int = 1
    """Number of schedulers of the scenario; all of them are of the release."""
    impossible: str = ""
    """Why the release cannot be asked; empty: it can."""

    @property
    def id(self) -> tuple[str, str]:
        """Scenario and release, different for all cells."""
        return self.question.scenario, self.release.name

    @property
    def subjects(self) -> list[str]:
        """The schedulers under test, as `--subject` takes them; none: the scenario's own."""
        return self._chosen(programs.SCHEDULER) * self.schedulers

    @property
    def claim_controller(self) -> str:
        """The claim controller under test, as `--claim-controller` takes it; empty: our own."""
        return "".join(self._chosen(programs.CONTROLLER))

    def _chosen(self, program: programs.Program) -> list[str]:
        is_it = self.release.program == program
        return [f"{program}={self.release.path}"] if is_it else []


def of(
    asked: Sequence[questions.Question],
    releases: Sequence[programs.Release],
    *,
    profile: profiles.Profile,
    folder: pathlib.Path,
) -> list[Cell]:
    """Return all cells on clusters of a profile, whose own programs are in `folder`.

    Raises ScenarioError for a scenario that cannot be loaded.
    """
    cluster = _cluster_digest(profile, folder)
    return [
        _cell(question, release, cluster=cluster, profile=profile, folder=folder)
        for question in asked
        for release in releases
        if release.program == question.program
    ]


def _cell(
    question: questions.Question,
    release: programs.Release,
    *,
    cluster: str,
    profile: profiles.Profile,
    folder: pathlib.Path,
) -> Cell:
    loaded = loading.load(question.scenario)
    key = ledgers.Key(
        scenario=question.scenario,
        program=release.name,
        binary=release.digest,
        text=ledgers.digest(loaded.text),
        harness=ledgers.of_harness(),
        cluster=cluster,
    )
    schedulers = len(loaded.scenario.subject.schedulers)
    cell = Cell(question=question, release=release, key=key, schedulers=schedulers)
    why = _why_impossible(cell, loaded, profile=profile, folder=folder)
    return msgspec.structs.replace(cell, impossible=why)


def _why_impossible(
    cell: Cell, loaded: loading.Loaded, *, profile: profiles.Profile, folder: pathlib.Path
) -> str:
    """Return why no run of a cell can be planned; empty: it can."""
    if cell.release.program == programs.API_SERVER:
        if profile.provider != "local":
            return _EMBEDDED_SERVER
        started = binaries.find(programs.API_SERVER, str(folder))
        if pathlib.Path(cell.release.path) != started.resolve():
            return f"a local cluster starts the newest one of the folder, {started.name}"
    try:
        run_plan.plan(
            loaded,
            seed=0,
            cluster=profile,
            chosen_subjects=cell.subjects,
            claim_controller=cell.claim_controller,
            binaries=str(folder),
        )
    except errors.UsageError as error:
        return str(error)
    return ""


def _cluster_digest(profile: profiles.Profile, folder: pathlib.Path) -> str:
    """Return the digest of the profile and of the programs of the cluster itself."""
    document = profile.model_dump(mode="json", exclude={"binaries"})
    used = binaries.NEEDED if profile.provider == "local" else ()
    paths = (binaries.find(name, str(folder)) for name in used)
    return ledgers.digest([document, [_digest(path) for path in paths]])


@functools.cache
def _digest(path: pathlib.Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def plan(
    cells: Iterable[Cell],
    ledger: ledgers.Ledger,
    *,
    repeat: int,
    reports: pathlib.Path,
    profile: profiles.Profile,
    folder: pathlib.Path,
    jobs: int,
) -> campaign_plan.CampaignPlan:
    """Return the plan of the runs that the cells lack: first one of each cell, then another."""
    seed = seeds.fresh()
    lacking = list(_lacking(cells, ledger, repeat, seeds.Seeds(seed)))
    lacking.sort(key=lambda run: run.repetition)
    return campaign_plan.CampaignPlan(
        seed=seed,
        reports=str(reports.resolve()),
        cluster=profile.model_dump(mode="json"),
        binaries=str(folder),
        jobs=jobs,
        started=clocks.wall_text(),
        versions=run_plan.versions(),
        runs=[
            msgspec.structs.replace(run, number=number)
            for number, run in enumerate(lacking, start=1)
        ],
    )


def _lacking(
    cells: Iterable[Cell], ledger: ledgers.Ledger, repeat: int, random: seeds.Seeds
) -> Iterator[campaign_plan.PlannedRun]:
    for cell in cells:
        if cell.impossible:
            continue
        for repetition in range(len(ledger.of(cell.key)), repeat):
            yield campaign_plan.PlannedRun(
                scenario=cell.question.scenario,
                title=cell.question.scenario,
                subjects=cell.subjects,
                tested=cell.release.name,
                repetition=repetition,
                seed=random.derive(*cell.id, repetition),
                claim_controller=cell.claim_controller,
            )
