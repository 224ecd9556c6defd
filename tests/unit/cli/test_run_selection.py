"""`-k`, `--last-failed`, `--exit-first` and `--dry-run` of commands, alone and together."""

import json
import pathlib
from typing import Any

import pytest

from harness.campaign.sharding import sharded_plans
from tests.support import old_campaigns, shards

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
        ["~7", "s", "remedy", "answer-lost", "(H1)", "python", "+", "keep-in-flight-until-known"],
        ["~7", "s", "remedy", "answer-lost", "(H1)", "python", "+", "keep-in-flight-until-known"],
        ["~7", "s", "hazard", "answer-lost", "(H1)", "correct"],
        ["~7", "s", "hazard", "answer-lost", "(H1)", "correct"],
    ]
    assert total == "4 runs, about 14 s with 2 at once; 4 of the times (~) are estimates"
    assert [*here.iterdir()] == []


def test_its_json_has_what_another_start_with_the_seed_would_make(flake_hunt: Any) -> None:
    _, out, _ = flake_hunt(*DRY, "--seed", 7, "-k", "hazard", "--output", "json")
    made = json.loads(out)
    assert [(run["purpose"], run["hypothesis"]) for run in made["runs"]] == [("hazard", "H1")] * 2
    assert made["selection"] == ["only 2 of 4 planned runs were to be made (-k 'hazard')"]
    _, out, _ = flake_hunt(*DRY, "--seed", 7, "--output", "json")
    all_seeds = {run["seed"] for run in json.loads(out)["runs"]}
    assert {run["seed"] for run in made["runs"]} < all_seeds


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--minutes", 5], "; all but the controls are repeated until 5 minutes are used"),
        (["--minutes", 5, "-k", "hazard", "-x"], "2 runs, about "),
    ],
)
def test_a_dry_run_says_what_is_repeated(flake_hunt: Any, words: list[object], said: str) -> None:
    code, out, _ = flake_hunt(*DRY, *words)
    assert (code, said in out.splitlines()[-1]) == (0, True)


def test_a_dry_run_of_the_failed_ones_knows_their_times(
    flake_hunt: Any, here: pathlib.Path
) -> None:
    worse = shards.violated(old_campaigns.PLAN.runs[1], seconds=31.0)
    old_campaigns.campaign(here / "reports", old_campaigns.NAMES[0], worse)
    code, out, _ = flake_hunt("hunt", "--last-failed", "--dry-run", "--jobs", 1, "-q")
    # the median of 1 s of the other run and these
    assert (code, out) == (0, "1 run, about 16 s with 1 at once\n")
    _, out, _ = flake_hunt("hunt", "--lf", "--dry-run")
    assert f"only what failed in {old_campaigns.NAMES[0]}, 1 of 3 runs, was to be made again" in out
    code, _, complaint = flake_hunt("hunt", "--lf", "--dry-run", "-k", "control")
    assert code == 2
    assert "'control' selects none" in complaint


def test_nothing_failed(flake_hunt: Any, here: pathlib.Path) -> None:
    old_campaigns.campaign(here / "reports", old_campaigns.NAMES[0])
    code, out, _ = flake_hunt("hunt", "--lf", "--dry-run")
    assert (code, "nothing failed in 3 runs" in out) == (0, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--lf", "--all"], "expected --last-failed alone, because it takes all other options"),
        (["--lf", "pod-churn"], "got scenario too"),
        (["--lf", "--seed", 7], "got --seed too"),
        (["--lf", "--subject", "python"], "got --subject too"),
        (["--lf"], "expected a campaign in reports"),
        (["--plan", "plan.json", "-x"], "got --exit-first too"),
        (["--plan", "plan.json", "-k", "pod"], "got -k too"),
        (["--plan", "plan.json", "--lf"], "got --last-failed too"),
        (["--plan", "plan.json", "--dry-run"], "got --dry-run too"),
        (["--plan", "plan.json", "--minutes", 5], "got --minutes too"),
        (["pod-churn", "-k", "pod-chrun"], "Did you mean 'pod-churn'?"),
        (["pod-churn", "-k", "pod and"], "a word is missing at the end"),
    ],
)
def test_what_is_refused_says_one_sentence_and_leaves_nothing(
    flake_hunt: Any, here: pathlib.Path, words: list[object], said: str
) -> None:
    code, out, complaint = flake_hunt("hunt", *words)
    assert (code, out, complaint.count("\n")) == (2, "", 1)
    assert said in complaint
    assert [*here.iterdir()] == []


def test_a_plan_for_many_machines_has_the_chosen_runs(flake_hunt: Any, here: pathlib.Path) -> None:
    code, _, _ = flake_hunt("plan", "answer-lost", "-k", "remedy", "--shards", 2, "-o", "p.json")
    made = sharded_plans.read(here / "p.json")
    assert (code, [run.purpose for run in made.runs]) == (0, ["remedy"] * 2)
    assert made.selection == ["only 2 of 4 planned runs were to be made (-k 'remedy')"]


def test_a_test_of_a_program_takes_the_same_options(flake_hunt: Any, here: pathlib.Path) -> None:
    code, out, _ = flake_hunt("test", "python", "--quick", "--dry-run", "-x", "-k", "control")
    assert code == 0
    assert {line.split()[2] for line in out.splitlines()[1:-2]} == {"control"}
    assert "until 2 minutes are used" in out
    assert [*here.iterdir()] == []
