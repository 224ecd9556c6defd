"""A run directory that was changed after its run says which file, and is UNKNOWN at best."""

import json
import pathlib
from collections.abc import Callable

import msgspec
import pytest

from harness.checks import judging, verdicts
from harness.history import directories, manifests, plans, records
from harness.report import publishing
from tests.histories import building, damages

VALID, INVALID = "a+D1 p* a~ b+D1", "a+D1 p* b+D1"
Change = Callable[[directories.RunDirectory], None]


@pytest.fixture
def directory(tmp_path: pathlib.Path) -> directories.RunDirectory:
    return _build(tmp_path, VALID)


def _build(path: pathlib.Path, text: str) -> directories.RunDirectory:
    directory = building.build(path / "run", text)
    directory.log("scheduler").write_text("started\n")
    directory.scenario.write_text("name = 'x'\n")
    plan = msgspec.structs.replace(plans.read(directory.plan), expects_manifest=True)
    plans.write(directory.plan, plan)
    manifests.write(directory, run_id=plan.run_id)
    return directory


def _judged(directory: directories.RunDirectory) -> tuple[verdicts.Verdict, bool, str]:
    judgement = judging.judge(directory)
    [item] = [item for item in judgement.certificate if item.name == "manifest"]
    return judgement.verdict, item.ok, item.reason


def test_it_lists_every_file_that_the_run_wrote(directory: directories.RunDirectory) -> None:
    found = json.loads(directory.manifest.read_bytes())
    assert (found["schema"], found["run_id"]) == (1, building.RUN_ID)
    assert list(found["files"]) == [
        "logs/scheduler.log",
        "observations.jsonl",
        "operations-kubelet.jsonl",
        "operations-traffic-0.jsonl",
        "plan.json",
        "preparations-kubelet.jsonl",
        "processes.jsonl",
        "scenario.toml",
        "steps-scheduler.jsonl",
    ]
    lines = directory.observations.read_bytes().count(b"\n")
    entry = found["files"]["observations.jsonl"]
    assert (entry["records"], entry["bytes"]) == (lines - 2, directory.observations.stat().st_size)
    assert len(entry["digest"]) == len("sha256:") + 64
    assert found["files"]["plan.json"]["records"] is None


def test_what_is_written_after_judging_is_not_in_it(directory: directories.RunDirectory) -> None:
    publishing.publish(judging.examine(directory))
    assert _judged(directory) == (
        verdicts.Verdict.VALID,
        True,
        "9 files, unchanged since the end of the run",
    )
    before = directory.manifest.read_bytes()
    manifests.write(directory, run_id=building.RUN_ID)
    assert directory.manifest.read_bytes() == before


def _appended(name: str) -> Change:
    def change(directory: directories.RunDirectory) -> None:
        with (directory.path / name).open("ab") as file:
            file.write(b"\n")

    return change


def _mended(directory: directories.RunDirectory) -> None:
    """A release is gone, and the trailer counts what is left."""
    damages.dropped(
        damages.observations,
        lambda record: isinstance(record, records.Observation) and record.type == "DELETED",
    )(directory)


def _of_same_size(directory: directories.RunDirectory) -> None:
    content = directory.plan.read_bytes()
    directory.plan.write_bytes(content.replace(b"written-by-hand", b"written-by-foot"))


def _added(directory: directories.RunDirectory) -> None:
    building.write(directory.operations("traffic-1"), [], process="traffic-1")


CHANGES: dict[str, tuple[Change, str]] = {
    "a line more": (_appended("steps-scheduler.jsonl"), "steps-scheduler.jsonl was changed after the run: it has "),
    "a record less": (_mended, "observations.jsonl was changed after the run: it has "),
    "same size": (_of_same_size, "plan.json was changed after the run: its content differs, its size does not"),
    "a log": (_appended("logs/scheduler.log"), "logs/scheduler.log was changed after the run: it has 9 bytes, not 8"),
    "a file less": (damages.spoiled("scenario.toml", "missing"), "scenario.toml is missing: it was removed after the run"),
    "a log less": (damages.spoiled("logs/scheduler.log", "missing"), "logs/scheduler.log is missing"),
    "a folder": (
        damages.spoiled("scenario.toml", "a folder"),
        "scenario.toml was changed after the run (scenario.toml: expected a file, got a folder)",
    ),
    "a journal more": (_added, "operations-traffic-1.jsonl was added: the run did not write it"),
}  # fmt: skip


# ---------------------------------------------------------------------- the manifest itself


def _replaced(content: bytes) -> Change:
    def change(directory: directories.RunDirectory) -> None:
        directory.manifest.write_bytes(content)

    return change


def _escaping(name: str) -> Change:
    entry = {"records": None, "bytes": 1, "digest": "x"}
    return damages.edited("manifest.json", files={name: entry})


UNUSABLE: dict[str, tuple[Change, str]] = {
    "missing": (damages.spoiled("manifest.json", "missing"), "manifest.json is missing: the run was interrupted, or "),
    "of another run": (
        damages.edited("manifest.json", run_id="another"),
        "manifest.json: expected the manifest of run f00dfeed (plan.json), got that of run another",
    ),
    "of the future": (damages.edited("manifest.json", schema=99, files=3), "manifest.json: expected the manifest of a run (expected schema 1, got 99"),
    "cut": (_replaced(b'{"schema": 1, "run'), "manifest.json: expected the manifest of a run"),
    "nested deep": (_replaced(b'{"schema": 1, "x": ' + b"[" * 100_000), "manifest.json: expected the"),
    "a folder": (damages.spoiled("manifest.json", "a folder"), "manifest.json: expected a file, got a folder"),
    "a path above": (_escaping("../x"), "manifest.json: expected files of the run directory, got '../x'"),
    "an absolute path": (_escaping("/etc/passwd"), "manifest.json: expected files of the run directory"),
}  # fmt: skip


REFUSED = CHANGES | {f"manifest: {name}": case for name, case in UNUSABLE.items()}


@pytest.mark.parametrize(("change", "reason"), REFUSED.values(), ids=REFUSED)
def test_a_change_is_named_and_rules_out_valid(
    directory: directories.RunDirectory, change: Change, reason: str
) -> None:
    change(directory)
    verdict, is_certified, said = _judged(directory)
    assert (verdict, is_certified) == (verdicts.Verdict.UNKNOWN, False)
    assert said.startswith(reason)


def test_a_run_of_an_older_version_says_that_it_has_none(tmp_path: pathlib.Path) -> None:
    directory = building.build(tmp_path / "run", VALID)
    reason = "the run left no manifest: a change of its files would not be noticed"
    assert _judged(directory) == (verdicts.Verdict.VALID, True, reason)
    publishing.publish(judging.examine(directory))
    assert reason in directory.report.read_text()


# ------------------------------------------------------------------------------- violations

CHANGED: dict[str, tuple[Change, verdicts.Verdict]] = {
    "a log": (_appended("logs/scheduler.log"), verdicts.Verdict.INVALID),
    "the steps": (_appended("steps-scheduler.jsonl"), verdicts.Verdict.INVALID),
    "the calls": (
        damages.spoiled("operations-traffic-0.jsonl", "missing"),
        verdicts.Verdict.INVALID,
    ),
    "the manifest": (damages.spoiled("manifest.json", "missing"), verdicts.Verdict.INVALID),
    "the observations": (_appended("observations.jsonl"), verdicts.Verdict.UNKNOWN),
    "the plan": (_appended("plan.json"), verdicts.Verdict.UNKNOWN),
}


@pytest.mark.parametrize(("change", "verdict"), CHANGED.values(), ids=CHANGED)
def test_a_violation_stands_unless_what_it_rests_on_was_changed(
    tmp_path: pathlib.Path, change: Change, verdict: verdicts.Verdict
) -> None:
    directory = _build(tmp_path, INVALID)
    assert _judged(directory)[0] is verdicts.Verdict.INVALID
    change(directory)
    assert _judged(directory)[:2] == (verdict, False)
