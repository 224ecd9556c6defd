"""`--last-failed`, `--exit-first`, `--dry-run` and globs of commands, alone and together."""

import json
import pathlib
from typing import Any

import pytest

from harness.campaign import campaign_plan
from harness.history import campaign_folders, results
from tests.support import shards

DRY = ("hunt", "answer-lost", "--dry-run")


@pytest.fixture(autouse=True)
def here(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """An empty folder as the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_dry_run_lists_the_runs_and_writes_nothing(flake_hunt: Any, here: pathlib.Path) -> None:
    code, out, _ = flake_hunt(*DRY, "--jobs", 2, "--seed", 7)
    assert code == 0
    head, *rows, total = out.splitlines()
    assert head == "seed 7"
    assert [line.split() for line in rows] == [
        ["remedy", "answer-lost", "(H1)", "python", "+", "keep-in-flight-until-known"],
        ["remedy", "answer-lost", "(H1)", "python", "+", "keep-in-flight-until-known"],
        ["hazard", "answer-lost", "(H1)", "correct"],
        ["hazard", "answer-lost", "(H1)", "correct"],
    ]
    assert total == "4 runs, 2 at once"
    assert [*here.iterdir()] == []


def test_its_json_has_what_another_start_with_the_seed_would_make(flake_hunt: Any) -> None:
    made = []
    for _ in range(2):
        _, out, _ = flake_hunt(*DRY, "--seed", 7, "--output", "json")
        made.append(json.loads(out))
    assert made[0] == made[1]
    assert [(run["purpose"], run["hypothesis"]) for run in made[0]["runs"]] == [
        *[("remedy", "H1")] * 2,
        *[("hazard", "H1")] * 2,
    ]


def test_a_dry_run_says_what_is_repeated(flake_hunt: Any) -> None:
    code, out, _ = flake_hunt(*DRY, "--minutes", 5, "-x", "--jobs", 1)
    said = "4 runs, 1 at once; all but the controls are repeated until 5 minutes are used"
    assert (code, out.splitlines()[-1]) == (0, said)


def test_a_glob_means_the_shipped_scenarios_that_match(flake_hunt: Any) -> None:
    code, out, _ = flake_hunt("hunt", "answer-l*t", "--dry-run")
    assert (code, {line.split()[1] for line in out.splitlines()[1:-1]}) == (0, {"answer-lost"})
    code, _, complaint = flake_hunt("hunt", "nothing-*", "--dry-run")
    assert code == 2
    assert "nothing-*" in complaint


PLAN = shards.campaign(subjects=2, controls=1)
NAME = "20260101T000000Z-7"


def earlier_campaign(reports: pathlib.Path, *worse: results.RunResult) -> None:
    """A campaign whose runs are as expected, but for some."""
    folder = reports / "campaigns" / NAME
    folder.mkdir(parents=True)
    changed = {result.number: result for result in worse}
    made = [changed.get(run.number, shards.result(run)) for run in PLAN.runs]
    campaign_plan.write(folder / campaign_folders.PLAN, PLAN)
    (folder / campaign_folders.RESULTS).write_bytes(results.encode(made))


def test_a_dry_run_of_the_failed_ones(flake_hunt: Any, here: pathlib.Path) -> None:
    earlier_campaign(here / "reports", shards.violated(PLAN.runs[1]))
    code, out, _ = flake_hunt("hunt", "--last-failed", "--dry-run", "--jobs", 1, "-q")
    assert (code, out) == (0, "1 run, 1 at once\n")
    _, out, _ = flake_hunt("hunt", "--lf", "--dry-run")
    assert f"only what failed in {NAME}, 1 of 3 runs, was to be made again" in out


def test_nothing_failed(flake_hunt: Any, here: pathlib.Path) -> None:
    earlier_campaign(here / "reports")
    code, out, _ = flake_hunt("hunt", "--lf", "--dry-run")
    assert (code, "nothing failed in 3 runs" in out) == (0, True)


def test_a_test_of_a_program_takes_the_same_options(flake_hunt: Any, here: pathlib.Path) -> None:
    code, out, _ = flake_hunt("test", "python", "--quick", "--dry-run", "-x")
    assert code == 0
    assert {line.split()[0] for line in out.splitlines()[1:-1]} >= {"subject", "control"}
    assert "until 2 minutes are used" in out
    assert [*here.iterdir()] == []
