"""A run directory is summed up from its small files, and what cannot be used is said."""

import json
import pathlib
from collections.abc import Callable
from typing import Any

import pytest

from harness import errors
from harness.checks import judging, verdicts
from harness.history import directories, run_folders
from tests.histories import archives, building, damages

Change = Callable[[directories.RunDirectory], Any]


def test_a_judged_run(tmp_path: pathlib.Path) -> None:
    made = archives.run(tmp_path, "one", "INVALID")
    found = run_folders.read(made.path)
    judgement = judging.judge(made)
    assert found.state is run_folders.State.JUDGED
    assert found.problem == ""
    assert found.plan is not None
    assert found.verdict is not None
    assert found.plan.scenario == building.SCENARIO
    assert found.verdict.verdict is verdicts.Verdict.INVALID
    assert found.verdict.figures.double_allocations == judgement.figures.double_allocations == 1
    assert found.verdict.reason == judgement.reason


def _of_another_plan(directory: directories.RunDirectory) -> None:
    directory.plan.write_text(directory.plan.read_text() + " ")


DAMAGES: dict[str, tuple[Change, str]] = {
    "torn": (lambda made: made.verdict.write_bytes(made.verdict.read_bytes()[:500]), "is damaged"),
    "deep": (
        lambda made: made.verdict.write_bytes(b'{"schema":7,"x":' + b"[" * 100_000),
        "damaged",
    ),
    "a newer schema": (damages.edited("verdict.json", schema=99), "expected schema 4 to 8, got 99"),
    "of another run": (
        damages.edited("verdict.json", run_id="other"),
        "it is about run 'other', not 'one'",
    ),
    "a made-up verdict": (damages.edited("verdict.json", verdict="FINE"), "is damaged"),
    "of another plan": (_of_another_plan, "is about another plan.json"),
    "a folder": (damages.spoiled("verdict.json", "a folder"), "expected a file"),
    "a broken plan": (lambda made: made.plan.write_text("{"), "plan.json is damaged"),
    "settings that are not UTF-8": (
        lambda made: made.plan.write_bytes(made.plan.read_bytes().replace(b'"name"', b'"n\xffme"')),
        "plan.json is damaged",
    ),
}


@pytest.mark.parametrize(("change", "why"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_run_is_never_taken_for_a_judged_one(
    tmp_path: pathlib.Path, change: Change, why: str
) -> None:
    made = archives.run(tmp_path, "one")
    change(made)
    found = run_folders.read(made.path)
    assert found.state is run_folders.State.DAMAGED
    assert found.verdict is None
    assert why in found.problem


def test_a_run_without_a_verdict(tmp_path: pathlib.Path) -> None:
    made = archives.run(tmp_path, "one")
    made.verdict.unlink()
    assert run_folders.read(made.path).state is run_folders.State.UNJUDGED
    made.manifest.unlink()
    assert run_folders.read(made.path).state is run_folders.State.UNFINISHED


def test_what_is_no_run(tmp_path: pathlib.Path) -> None:
    with pytest.raises(errors.RunDirectoryError, match=r"has no plan\.json"):
        run_folders.read(tmp_path)


def test_older_verdicts_are_read(tmp_path: pathlib.Path) -> None:
    made = archives.run(tmp_path, "one")
    document = json.loads(made.verdict.read_bytes())
    del document["judges"], document["manifest"]
    made.verdict.write_text(json.dumps(document | {"schema": 5}))
    assert run_folders.read(made.path).state is run_folders.State.JUDGED


def test_versions_of_the_cluster(tmp_path: pathlib.Path) -> None:
    made = archives.run(tmp_path, "one")
    assert run_folders.cluster_versions(made.path) == {}
    made.cluster.write_text('{"name": "n", "versions": {"kube-apiserver": "v1.36.2"}}')
    assert run_folders.cluster_versions(made.path) == {"kube-apiserver": "v1.36.2"}
    made.cluster.write_text("[]")
    assert run_folders.cluster_versions(made.path) == {}


@pytest.mark.parametrize("has_ended", [True, False])
def test_a_run_that_its_campaign_cut_says_so(tmp_path: pathlib.Path, *, has_ended: bool) -> None:
    made = archives.run(tmp_path, "one", "VALID")
    made.verdict.unlink()
    made.plan.write_text(json.dumps(json.loads(made.plan.read_bytes()) | {"campaign": "c"}))
    folder = made.path.parent.parent / "campaigns" / "c"
    folder.mkdir(parents=True)
    (folder / "campaign.json").write_text('{"seed": 1, "runs": []}')
    cut = {"scenario": "s", "subject": "t", "cut": True, "reason": "cut by its campaign's budget"}
    (folder / "results.jsonl").write_text(json.dumps(cut) + "\n")
    if has_ended:
        (folder / "results.json").write_text('{"verdict": "UNKNOWN", "summary": ""}')
    problem = run_folders.read(made.path).problem
    assert (problem == "it was cut by its campaign's budget") is has_ended
