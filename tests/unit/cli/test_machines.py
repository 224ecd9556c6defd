"""`shards plan`, `hunt --plan` and `shards merge`: their options, messages and exit codes."""

import json
import pathlib
from typing import Any

import pytest

from harness.campaign.sharding import sharded_plans
from tests.support import schemas, shards


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_plan_is_written_and_told(flake_hunt: Any) -> None:
    words = ["hunt", "pod-churn", "--repeat", "4", "--repeat-controls", "0", "--seed", "7"]
    plan_of = ("shards", "plan", "--shards", "2", "-o", "mine.json", *words)
    code, out, _ = flake_hunt(*plan_of)
    assert code == 0
    assert out.splitlines()[:2] == [
        "seed 7",
        "4 runs in 2 shards (2 each)",
    ]
    assert out.splitlines()[-1] == "mine.json"
    plan = sharded_plans.read(pathlib.Path("mine.json"))
    assert plan.campaign.again == words
    schemas.obeying("plan", pathlib.Path("mine.json").read_bytes())
    first = pathlib.Path("mine.json").read_bytes()
    assert flake_hunt(*plan_of)[0] == 0
    assert pathlib.Path("mine.json").read_bytes() == first


def test_a_plan_of_a_test_has_its_scenarios_and_controls(flake_hunt: Any) -> None:
    words = ["test", "python", "--quick", "--reports", "old"]
    assert flake_hunt("shards", "plan", *words)[0] == 0
    plan = sharded_plans.read(pathlib.Path("plan.json"))
    assert plan.campaign.again[:-1] == [*words, "--seed"]
    assert {run.purpose for run in plan.runs} == {"subject", "control", "hazard", "remedy"}


def test_a_merge_names_what_is_missing_and_doubled(flake_hunt: Any, tmp_path: pathlib.Path) -> None:
    plan = shards.plan(subjects=5, controls=1, shards=3)
    own = shards.every_folder(tmp_path, plan)
    again = shards.folder(tmp_path / "again", plan, 1, [shards.violated(plan.runs_of(1)[0])])
    code, out, _ = flake_hunt(
        "shards", "merge", *own[:2], str(again), "-o", "merged", "--summary", "summary.md"
    )
    assert code == 10
    missing = ", ".join(run.id for run in plan.runs_of(3))
    assert f"UNKNOWN shard 3 of 3 is missing: none of the folders has it: 2 runs ({missing})" in out
    assert f"doubled: {plan.runs_of(1)[0].id}: the result in {again} counts" in out
    assert "2 planned runs without a result" in pathlib.Path("summary.md").read_text()
    code, out, _ = flake_hunt("shards", "merge", *own, "-o", "merged")
    assert code == 0
    assert "UNKNOWN" not in out


def test_a_merge_as_json(flake_hunt: Any, tmp_path: pathlib.Path) -> None:
    plan = shards.plan(subjects=5, controls=1, shards=3)
    own = shards.every_folder(tmp_path, plan)
    code, out, err = flake_hunt("shards", "merge", *own[1:], "--output", "json")
    assert code == 20
    assert "shard 1 of 3 is missing" in err
    document = schemas.obeying("campaign", out)
    assert document["exit_code"] == 20
    folder = pathlib.Path(document["directory"])
    assert folder.parent == tmp_path / "reports" / "campaigns"
    assert folder.name.endswith(f"-plan-{plan.short_digest}-merged")
    assert folder.name in (tmp_path / "reports" / "index.html").read_text()
    assert json.loads((folder / "merge.json").read_bytes())["missing_shards"] == [1]
