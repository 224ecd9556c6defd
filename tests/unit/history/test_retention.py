"""Evidence that was removed on purpose: what stays, and what the commands say of it."""

import json
import pathlib
import shutil
from typing import Any

import pytest

from harness import errors
from harness.checks import judging
from harness.history import directories, histories, retention, run_folders
from harness.report import publishing
from tests.histories import building

VALID, INVALID = "a+D1 p* a~ b+D1", "a+D1 p* b+D1"
STAYS = {
    "plan.json",
    "scenario.toml",
    "manifest.json",
    "verdict.json",
    "report.html",
    "junit.xml",
    "summary.md",
    retention.NOTE,
}


def judged(path: pathlib.Path, text: str = VALID) -> directories.RunDirectory:
    directory = building.build(path, text, sealed=True)
    directory.logs.mkdir(exist_ok=True)
    directory.log("scheduler").write_text("line\n")
    publishing.publish(judging.examine(directory))
    return directory


@pytest.fixture
def removed(tmp_path: pathlib.Path) -> directories.RunDirectory:
    directory = judged(tmp_path / "removed")
    retention.remove(directory, reason="--keep 10")
    return directory


def test_the_verdict_stays_and_the_evidence_goes(removed: directories.RunDirectory) -> None:
    names = {path.name for path in removed.path.iterdir()}
    assert (names - STAYS, STAYS - names) == (set(), {"scenario.toml"} - names)
    found = run_folders.read(removed.path)
    assert found.verdict is not None
    assert found.verdict.verdict.value == "VALID"


def test_it_is_not_called_damaged(removed: directories.RunDirectory) -> None:
    with pytest.raises(errors.RemovedEvidenceError, match=r"removed on 2.*\(--keep 10\)") as raised:
        histories.load(removed.path)
    assert type(raised.value).exit_code == 20


def test_a_note_beside_evidence_hides_nothing(tmp_path: pathlib.Path) -> None:
    directory, other = judged(tmp_path / "run", INVALID), judged(tmp_path / "other")
    retention.remove(other, reason="x")
    shutil.copy(other.path / retention.NOTE, directory.path / retention.NOTE)
    assert judging.judge(directory).verdict.value == "INVALID"


@pytest.mark.parametrize("content", ["", "{", "[]", '{"schema": 1}'])
def test_a_note_that_cannot_be_read_is_none(
    removed: directories.RunDirectory, content: str
) -> None:
    (removed.path / retention.NOTE).write_text(content)
    assert judging.judge(removed).verdict.value == "UNKNOWN"


@pytest.mark.parametrize("command", ["check", "report"])
def test_the_verdict_is_not_replaced(
    flake_hunt: Any, removed: directories.RunDirectory, command: str
) -> None:
    before = removed.verdict.read_bytes(), removed.report.read_bytes()
    code, out, err = flake_hunt(command, str(removed.path))
    assert (code, out) == (20, "")
    assert "was removed on" in err
    assert "damaged" not in err
    assert (removed.verdict.read_bytes(), removed.report.read_bytes()) == before


def test_several_are_checked_all_the_same(
    flake_hunt: Any, removed: directories.RunDirectory, tmp_path: pathlib.Path
) -> None:
    other = judged(tmp_path / "other", INVALID)
    code, out, _ = flake_hunt("check", str(removed.path), str(other.path))
    assert code == 10
    assert "was removed on" in out


def test_a_query_says_what_it_leaves_out(
    flake_hunt: Any, removed: directories.RunDirectory, tmp_path: pathlib.Path
) -> None:
    pytest.importorskip("duckdb")
    other = judged(tmp_path / "other")
    select = "select count(distinct run) as runs from holds"
    paths = (str(removed.path), str(other.path))
    code, out, err = flake_hunt("query", *paths, select, "--output", "json")
    assert (code, json.loads(out)["rows"]) == (0, [[1]])
    assert "left out 1 of 2 runs" in err
    code, _, err = flake_hunt("query", str(removed.path), select)
    assert code == 20
    assert "was removed on" in err


def test_logs_that_were_removed_are_not_missing(
    flake_hunt: Any, removed: directories.RunDirectory
) -> None:
    code, _, err = flake_hunt("explain", str(removed.path))
    assert code == 20
    assert "was removed on" in err
