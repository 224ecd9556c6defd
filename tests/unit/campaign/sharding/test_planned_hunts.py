"""Shards made by the real command without clusters: each attempt's result is decided by its run."""

import pathlib
import re

import msgspec
import pytest

from harness import errors
from harness.campaign import campaign_documents, campaign_plan, plugin
from harness.campaign.sharding import merging, shard_folders, sharded_plans
from harness.checks import verdicts
from harness.cli import campaigning
from harness.cli.terminal import outputs
from harness.history import campaign_folders, results
from harness.history.purposes import Purpose
from harness.scenario import loading
from tests.support import mig_objects, schemas, shards

SAME = ["campaign.json", "index.html", "junit.xml", "results.json", "results.jsonl", "summary.md"]
"""Files that one campaign and a merge of its shards have, with the same bytes but for times."""
TIMES_AND_FOLDERS = re.compile(
    rb"campaigns/[\w-]+|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|\d{8}T\d{6}Z|(?:/[\w./-]*)?/(?:whole|merged|r\d+)(?=[/\"])|(?:\.\./)+(?:r\d+/)?"
    rb'|(?<="pid": )\d+|(?<="boot_id": ")[^"]*'
)
"""Times, the process and host of the campaign, its folder, and where the reports are: `/…/r3`, and
`../../../r3/` in links."""


class Attempts:
    """Decides the result of each attempt, and notes which were made."""

    def __init__(self) -> None:
        self.made: list[tuple[int, int]] = []
        self.died_at: int | None = None
        """Number of a run at which the process is interrupted."""
        self.failed: set[int] = set()
        """Numbers of runs that cannot be executed."""
        self.violated: set[int] = set()

    def make(self, item: plugin.RunItem, attempt: int) -> results.RunResult:
        run = item._run
        if run.number == self.died_at:
            raise KeyboardInterrupt
        self.made.append((run.number, attempt))
        if run.number in self.failed:
            return shards.result(run, verdict=None, error="no engine", attempt=attempt)
        found = shards.result(run, attempt=attempt)
        if run.purpose is Purpose.CONTROL and attempt == 0:  # the second attempt catches it
            found = shards.missed(run)[0]
        if run.number in self.violated:
            found = shards.violated(run)
        return shards.evidence(pathlib.Path(item._plan.reports), run, found)


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> Attempts:
    made = Attempts()
    monkeypatch.setattr(plugin.RunItem, "_attempt", lambda item, number: made.make(item, number))
    return made


def make(
    plan: sharded_plans.ShardedPlan, number: int, reports: pathlib.Path
) -> campaign_documents.CampaignDocument:
    quiet = outputs.Output(is_quiet=True)
    return campaigning.make_shard(plan, number, "", jobs=0, reports=reports, out=quiet)


def content(folder: pathlib.Path | str) -> dict[str, bytes]:
    files = {name: pathlib.Path(folder, name).read_bytes() for name in SAME}
    return {name: TIMES_AND_FOLDERS.sub(b"", content) for name, content in files.items()}


def test_shards_are_the_same_campaign_as_one(tmp_path: pathlib.Path, attempts: Attempts) -> None:
    plan = shards.plan(subjects=8, controls=2, shards=5)
    whole = make(plan, 0, tmp_path / "whole")
    made = sorted(attempts.made)
    attempts.made.clear()
    codes = {make(plan, n, tmp_path / f"r{n}").exit_code for n in range(1, 6)}
    assert (codes, whole.exit_code) == ({0}, 0)
    assert sorted(attempts.made) == made, "each attempt once"
    target = tmp_path / "merged" / "campaigns" / "all"
    given = merging.read([str(tmp_path / f"r{n}") for n in range(5, 0, -1)])
    campaign, _ = merging.write(given, target)
    assert campaign.exit_code == 0
    assert content(target) == content(whole.directory)
    assert campaign_plan.read(target / "campaign.json").runs
    for name, document in {"campaign": "results.json", "merge": "merge.json"}.items():
        schemas.obeying(name, (target / document).read_bytes())
    schemas.obeying("plan", (target / shard_folders.PLAN).read_bytes())
    links = re.findall(r'href="([^#"][^"]*)"', (target / "index.html").read_text())
    assert len(links) >= 12
    assert all((target / link).parent.is_dir() for link in links)


def test_a_shard_that_was_interrupted_continues_and_then_has_ended(
    tmp_path: pathlib.Path, attempts: Attempts
) -> None:
    plan = shards.plan(subjects=5, controls=1, shards=1)
    attempts.died_at = 3
    with pytest.raises(errors.InterruptionError):
        make(plan, 1, tmp_path)
    assert [number for number, _ in attempts.made] == [1, 2]
    (folder,) = (tmp_path / "campaigns").iterdir()
    campaign, merge = merging.write(merging.read([str(folder)]), tmp_path / "merged")
    assert campaign.exit_code == 20
    assert [item.number for item in merge.missing] == [3, 4, 5, 6]
    attempts.died_at = None
    for left in ({3, 4, 5, 6}, set()):
        attempts.made.clear()
        again = make(plan, 1, tmp_path)
        assert (again.exit_code, {number for number, _ in attempts.made}) == (0, left)
        assert list((tmp_path / "campaigns").iterdir()) == [folder]
    assert campaign_plan.read(folder / "campaign.json").done == [1, 2, 3, 4, 5, 6]
    campaign, merge = merging.write(merging.read([str(folder)]), tmp_path / "merged")
    assert (campaign.exit_code, merge.missing) == (0, [])


def test_what_could_not_be_executed_is_made_again(
    tmp_path: pathlib.Path, attempts: Attempts
) -> None:
    plan = shards.plan(subjects=3, controls=0, shards=1)
    attempts.failed = {2}
    assert make(plan, 1, tmp_path).exit_code == campaign_documents.HARNESS_ERROR
    attempts.failed.clear()
    attempts.made.clear()
    assert make(plan, 1, tmp_path).exit_code == 0
    assert attempts.made == [(2, 0)]


@pytest.mark.parametrize("damage", ["verdict", "line"])
def test_a_result_without_its_evidence_is_made_again(
    tmp_path: pathlib.Path, attempts: Attempts, damage: str
) -> None:
    plan = shards.plan(subjects=3, controls=0, shards=1)
    file = pathlib.Path(make(plan, 1, tmp_path).directory) / campaign_folders.RESULTS
    if damage == "verdict":
        (tmp_path / shards.SCENARIO / "run-3-0-VALID" / "verdict.json").unlink()
    else:
        file.write_bytes(file.read_bytes()[:-5])
    attempts.made.clear()
    assert make(plan, 1, tmp_path).exit_code == 0
    assert attempts.made == [(3, 0)]
    assert len(file.read_bytes().splitlines()) == 3


@pytest.mark.parametrize("verdict", [shards.INVALID, shards.UNKNOWN])
def test_what_speaks_against_the_subject_is_kept_without_its_evidence(
    tmp_path: pathlib.Path, attempts: Attempts, verdict: verdicts.Verdict
) -> None:
    plan = shards.plan(subjects=2, controls=0, shards=1)
    bad = shards.result(plan.runs[0], verdict=verdict, directory="/gone")
    shards.folder(tmp_path, plan, 1, [bad])
    assert make(plan, 1, tmp_path).exit_code == verdict.exit_code
    assert attempts.made == [(2, 0)]


def test_another_plan_and_another_shard_have_folders_of_their_own(tmp_path: pathlib.Path) -> None:
    plan = shards.plan(subjects=4, controls=0, shards=2)
    other = shards.plan(subjects=4, controls=0, shards=1)
    parts = ((plan, 1), (plan, 2), (plan, 0), (other, 1))
    folders = [shards.folder(tmp_path, *part) for part in parts]
    assert folders == [shards.folder(tmp_path, *part) for part in parts]
    assert len(set(folders)) == 4


def test_two_processes_do_not_make_one_shard_at_once(tmp_path: pathlib.Path) -> None:
    plan = shards.plan(subjects=2, controls=0, shards=1)
    with (
        shard_folders.started(plan, 1, reports=tmp_path, jobs=1),
        pytest.raises(errors.UsageError, match="expected one process for a shard"),
    ):
        make(plan, 1, tmp_path)


def test_a_scenario_that_this_machine_lacks_comes_with_the_plan(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = shards.plan(subjects=1, controls=0, shards=1)
    monkeypatch.chdir(tmp_path)
    [run] = shards.started(plan, 1, tmp_path)[1].runs
    assert run.scenario == shards.SCENARIO, "it is the same here"
    text = plan.scenarios[0].text.replace("title = ", "title = 'changed' # ", 1)
    mine = msgspec.structs.replace(plan.scenarios[0], given="../mine.toml", text=text)
    runs = [msgspec.structs.replace(run, scenario="../mine.toml") for run in plan.runs]
    campaign = msgspec.structs.replace(plan.campaign, runs=runs)
    plan = msgspec.structs.replace(plan, scenarios=[mine], campaign=campaign, digest="sha256:1")
    folder, campaign = shards.started(plan, 1, tmp_path)
    written = pathlib.Path(campaign.runs[0].scenario)
    assert written == folder / "scenarios" / "1-mine.toml"
    assert written.read_text() == text


def test_objects_of_files_come_with_the_plan(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "home" / "mine.toml"
    path.parent.mkdir()
    (path.parent / "slices.yaml").write_text(mig_objects.TEXT)
    path.write_text(
        f'schema_version = 1\nname = "mine"\ntitle = "a title"\n[pools]\n{mig_objects.POOLS}'
        '[traffic]\nprofile = "churn"\n[load]\nallocations_min = 1\n'
    )
    before = loading.load(str(path)).scenario.pools.imported
    options = {"seed": 1, "repeat": 1, "repeat_controls": 1, "reports": tmp_path}
    made = campaign_plan.plan([str(path)], **options)
    sharded_plans.write(tmp_path / "plan.json", sharded_plans.make(made, shards=1))
    (path.parent / "slices.yaml").write_text(mig_objects.TEXT.replace("half-0", "half-7"))
    plan = sharded_plans.read(tmp_path / "plan.json")
    folder, campaign = shards.started(plan, 1, tmp_path)
    assert campaign.runs[0].scenario == str(folder / "scenarios" / "1-mine.toml")
    found = loading.load(campaign.runs[0].scenario).scenario.pools.imported
    assert found.sha256 == before.sha256


@pytest.mark.parametrize("violated", [[], [2], [1]])
def test_latest_is_the_worst_run_of_the_subject(
    tmp_path: pathlib.Path, attempts: Attempts, violated: list[int]
) -> None:
    """Controls come last and are INVALID, as they should be."""
    attempts.violated = set(violated)
    make(shards.plan(subjects=3, controls=3, shards=1), 1, tmp_path)
    found = (tmp_path / "latest").resolve().name
    assert found in ([f"run-{violated[0]}-0-INVALID"] if violated else ["run-1-0-VALID"])
    make(shards.plan(subjects=0, controls=2, shards=1), 1, tmp_path / "controls")
    assert not (tmp_path / "controls" / "latest").exists()


def test_another_version_of_a_scheduler_is_refused_before_the_first_run(
    tmp_path: pathlib.Path,
) -> None:
    plan = campaign_plan.plan(
        ["pod-churn"],
        seed=1,
        repeat=2,
        repeat_controls=1,
        reports=tmp_path,
        subjects=["external=volcano"],
    )
    shard_folders.require_same_subjects(plan)
    runs = [
        msgspec.structs.replace(run, tested="kube-scheduler v1.36.2") if run.tested else run
        for run in plan.runs
    ]
    with pytest.raises(
        errors.UsageError, match=r"expected kube-scheduler v1\.36\.2 on this machine"
    ):
        shard_folders.require_same_subjects(msgspec.structs.replace(plan, runs=runs))
