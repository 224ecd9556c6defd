"""`plan`, `hunt --plan` and `merge`: their options, messages and exit codes."""

import json
import pathlib
from typing import Any

import pytest

from harness.campaign.sharding import sharded_plans
from harness.cli.subcommands.running import plan_command
from tests.support import schemas, shards


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_plan_is_written_and_told(flake_hunt: Any) -> None:
    words = (
        "plan",
        "pod-churn",
        "--repeat",
        "4",
        "--repeat-controls",
        "0",
        "--shards",
        "2",
        "--seed",
        "7",
    )
    code, out, _ = flake_hunt(*words, "-o", "mine.json")
    assert code == 0
    assert out.splitlines()[:2] == [
        "seed 7",
        "4 runs in 2 shards (2 each), with known durations for 0 of them",
    ]
    assert out.splitlines()[-1] == "mine.json"
    plan = sharded_plans.read(pathlib.Path("mine.json"))
    assert plan.again == [
        "hunt",
        "pod-churn",
        "--repeat",
        "4",
        "--repeat-controls",
        "0",
        "--seed",
        "7",
    ]
    schemas.obeying("plan", pathlib.Path("mine.json").read_bytes())
    first = pathlib.Path("mine.json").read_bytes()
    assert flake_hunt(*words, "-o", "mine.json", "--quiet")[:2] == (0, "mine.json\n")
    assert pathlib.Path("mine.json").read_bytes() == first


@pytest.mark.parametrize(
    "words",
    [
        ["plan", "x", "--shards", "3", "-q", "-o", "p.json"],
        ["plan", "-op.json", "--shards=3", "x", "--reports", "old"],
        ["plan", "--into=p.json", "x", "--reports=old", "--shards", "3"],
        ["plan", "--into", "p.json", "x"],
    ],
)
def test_the_same_campaign_on_one_machine(words: list[str]) -> None:
    assert plan_command.same_campaign(words, 5, is_given=False) == ["hunt", "x", "--seed", "5"]
    assert plan_command.same_campaign(words, 5, is_given=True) == ["hunt", "x"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["plan", "pod-churn", "--shards", "900"], "expected --shards to be at most"),
        (["plan", "pod-churn", "--shards", "0"], "expected at least 1"),
        (["plan", "nonsense"], "expected a scenario file or the name of a shipped one"),
        (["hunt", "--shard", "1/2"], "expected --plan FILE with --shard 1/2"),
        (["hunt", "--plan", "none.json"], "none.json, which cannot be read"),
        (["hunt", "pod-churn", "--plan", "p.json", "--repeat", "2"], "scenario, --repeat too"),
        (["hunt", "--plan", "p.json", "--seed", "1"], "--seed too: leave that out"),
        (["hunt", "--plan", "p.json", "--shard", "4/3"], "expected --shard 1/3 to 3/3"),
        (["hunt", "--plan", "p.json", "--shard", "1/3", "--jobs", "5000"], "expected --jobs"),
        (["merge"], "SHARD"),
        (["merge", "none"], "which is no folder"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(
    flake_hunt: Any, words: list[str], message: str
) -> None:
    sharded_plans.write(pathlib.Path("p.json"), shards.plan())
    code, _, err = flake_hunt(*words)
    assert code == 2
    assert message in err
    assert [path.name for path in pathlib.Path().iterdir()] == ["p.json"]


@pytest.mark.parametrize("variable", ["JOB_COMPLETION_INDEX", "SLURM_ARRAY_TASK_ID"])
def test_the_shard_comes_from_the_engine(
    flake_hunt: Any, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    sharded_plans.write(pathlib.Path("p.json"), shards.plan())
    monkeypatch.setenv(variable, "99")
    code, _, err = flake_hunt("hunt", "--plan", "p.json")
    assert code == 2
    assert f"expected {variable} to be" in err
    assert not pathlib.Path("reports").exists()


def test_a_merge_names_what_is_missing_and_doubled(flake_hunt: Any, tmp_path: pathlib.Path) -> None:
    plan = shards.plan(subjects=5, controls=1, shards=3)
    own = shards.every_folder(tmp_path, plan)
    again = shards.folder(tmp_path / "again", plan, 1, [shards.violated(plan.runs_of(1)[0])])
    code, out, _ = flake_hunt(
        "merge", *own[:2], str(again), "-o", "merged", "--summary", "summary.md"
    )
    assert code == 10
    missing = ", ".join(run.id for run in plan.runs_of(3))
    assert f"UNKNOWN shard 3 of 3 is missing: none of the folders has it: 2 runs ({missing})" in out
    assert f"doubled: {plan.runs_of(1)[0].id}: the result in {again} counts" in out
    assert "2 planned runs without a result" in pathlib.Path("summary.md").read_text()
    code, out, _ = flake_hunt("merge", *own, "-o", "merged")
    assert code == 0
    assert "UNKNOWN" not in out


def test_a_merge_as_json(flake_hunt: Any, tmp_path: pathlib.Path) -> None:
    plan = shards.plan(subjects=5, controls=1, shards=3)
    own = shards.every_folder(tmp_path, plan)
    code, out, err = flake_hunt("merge", *own[1:], "--output", "json")
    assert code == 20
    assert "shard 1 of 3 is missing" in err
    document = schemas.obeying("campaign", out)
    assert document["exit_code"] == 20
    folder = pathlib.Path(document["directory"])
    assert folder.parent == tmp_path / "reports" / "campaigns"
    assert folder.name.endswith(f"-plan-{plan.short_digest}-merged")
    assert folder.name in (tmp_path / "reports" / "index.html").read_text()
    assert json.loads((folder / "merge.json").read_bytes())["missing_shards"] == [1]
