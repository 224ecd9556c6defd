"""`flake-hunt compare`: text, JSON and Markdown; its exit codes."""

import pathlib
import shutil
from typing import Any

import pytest

from tests.histories import archives
from tests.support import schemas

RUNS = 12


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("reports")
    for name, verdict, defects in (
        ("one", "VALID", []),
        ("two", "VALID", []),
        ("bad", "INVALID", ["gather-not-atomic"]),
    ):
        made = archives.run(folder / name, name, verdict, scenario="churn")
        archives.repeated(
            made,
            RUNS,
            figures=lambda number: {"allocations_per_s": 40.0 + number % 5},
            plan={"defects": defects},
        )
        shutil.rmtree(made.path)
    return folder


def test_one_subject_twice(flake_hunt: Any, reports: pathlib.Path) -> None:
    code, out, err = flake_hunt("compare", str(reports / "one"), str(reports / "two"))
    assert (code, err) == (0, "")
    assert out.splitlines()[-1].startswith("no difference found: INVALID in A 0 of 12 runs (0 to 2")
    assert "None: the compared runs have the same settings." in out
    for title in ("Compared", "Settings that differ", "Violations"):
        assert title in out.splitlines()


def test_the_fix_of_a_defect_works(flake_hunt: Any, reports: pathlib.Path) -> None:
    paths = [str(reports / name) for name in ("bad", "one")]
    code, out, _ = flake_hunt("compare", *paths, "--fix", "--quiet")
    assert code == 0
    assert out.splitlines()[-1] == (
        "the fix works: churn (gather-not-atomic against correct): B is better: INVALID in "
        "A 12 of 12 runs (73 to 100 %), B 0 of 12 runs (0 to 27 %)"
    )
    code, out, _ = flake_hunt("compare", *paths, "--output", "json")
    document = schemas.obeying("comparison", out)
    assert (code, document["answer"]) == (10, "better")
    assert document["rows"][0]["fall_low"] == pytest.approx(0.387, abs=0.01)


def test_what_is_worse_or_the_same_is_no_fix(flake_hunt: Any, reports: pathlib.Path) -> None:
    code, out, _ = flake_hunt("compare", str(reports / "one"), str(reports / "bad"), "--fix", "-q")
    assert code == 10
    assert out.startswith("no fix: churn (correct against gather-not-atomic): B is worse: INVALID")
    code, out, _ = flake_hunt("compare", str(reports / "one"), str(reports / "two"), "--fix", "-q")
    assert code == 20
    assert out.startswith("not shown that B fixes A: no difference found: INVALID in A 0 of 12")


def test_as_json_it_is_one_document(flake_hunt: Any, reports: pathlib.Path) -> None:
    paths = [str(reports / name) for name in ("one", "bad")]
    code, out, err = flake_hunt("compare", *paths, "--output", "json")
    document = schemas.obeying("comparison", out)
    assert (code, document["exit_code"], err) == (10, 10, "")
    assert [side["label"] for side in document["sides"]] == ["A", "B"]
    [row] = document["rows"]
    assert row["second"]["finding"].startswith("device_exclusivity")
    assert row["first"]["medians"]["allocations_per_s"] == 41.5


def test_a_comment_for_a_pull_request(
    flake_hunt: Any, reports: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """The exit code is that of `compare` without it."""
    file, link = tmp_path / "comment.txt", ["--link", "https://example.com/1"]
    paths = [str(reports / name) for name in ("one", "bad")]
    code, out, _ = flake_hunt("compare", *paths, "--comment", str(file), *link)
    assert code == 10
    assert str(file) in out
    assert "change is worse: INVALID in base 0 of 12 runs" in out
    assert file.read_text().startswith("**Flake Hunt: worse than the base, by more than chance.**")
    assert "[Pictures and reports](https://example.com/1)" in file.read_text()


def test_hostile_names_are_shown_and_not_obeyed(flake_hunt: Any, tmp_path: pathlib.Path) -> None:
    evil = "\x1b]0;x\x07<script>alert(1)</script>&[/red]"
    made = [
        archives.run(tmp_path, name, changes={"versions": {"scheduler": evil}, "subject": evil})
        for name in ("a", "b")
    ]
    _, out, _ = flake_hunt("compare", *(str(run.path) for run in made))
    assert "\x1b" not in out
    assert "\\x1b]0;x\\x07<script>" in out
