"""The plan of a campaign over machines: what it has, and which plans are refused."""

import json
import pathlib
from typing import Any

import hypothesis
import msgspec
import pytest
from hypothesis import strategies

from harness import errors
from harness.campaign import campaign_plan
from harness.campaign.sharding import sharded_plans
from harness.history.purposes import Purpose
from harness.run import run_plan
from harness.scenario import loading
from tests.support import cases, schemas, shards

EXAMPLE = pathlib.Path(__file__).parents[4] / "examples" / "my-plugins"


def real(tmp_path: pathlib.Path, **changes: Any) -> campaign_plan.CampaignPlan:
    options: dict[str, Any] = {"seed": 3, "repeat": 2, "repeat_controls": 2, "reports": tmp_path}
    return campaign_plan.plan(["answer-lost", "pod-churn"], **options | changes)


def test_every_run_of_the_campaign_is_in_one_shard(tmp_path: pathlib.Path) -> None:
    campaign = real(tmp_path)
    plan = sharded_plans.make(campaign, shards=4)
    parts = [run.number for shard in range(1, 5) for run in plan.runs_of(shard)]
    assert sorted(parts) == [run.number for run in campaign.runs]
    assert [msgspec.structs.replace(run, shard=0) for run in plan.runs] == campaign.runs


def test_it_has_settings_and_texts_of_its_scenarios(tmp_path: pathlib.Path) -> None:
    plan = sharded_plans.make(real(tmp_path), shards=2)
    assert [scenario.given for scenario in plan.scenarios] == ["pod-churn", "answer-lost"] or [
        scenario.given for scenario in plan.scenarios
    ] == ["answer-lost", "pod-churn"]
    for scenario in plan.scenarios:
        loaded = loading.load(scenario.given)
        assert scenario.text == loaded.text
        assert scenario.settings == loaded.scenario.model_dump(mode="json")
    assert {run.purpose for run in plan.runs} == {
        Purpose.CONTROL,
        Purpose.HAZARD,
        Purpose.REMEDY,
        Purpose.SUBJECT,
    }


def test_the_same_campaign_writes_the_same_bytes(tmp_path: pathlib.Path) -> None:
    """Neither the time nor the folder of reports is in it."""
    first = sharded_plans.make(real(tmp_path), shards=4)
    again = sharded_plans.make(real(tmp_path / "other"), shards=4)
    assert sharded_plans.encode(first) == sharded_plans.encode(again)
    other = sharded_plans.make(real(tmp_path, seed=4), shards=4)
    assert other.digest != first.digest


def test_it_survives_its_file_and_obeys_its_schema(tmp_path: pathlib.Path) -> None:
    plan = sharded_plans.make(real(tmp_path), shards=4)
    path = tmp_path / "plan.json"
    sharded_plans.write(path, plan)
    assert sharded_plans.read(path) == plan
    schemas.obeying("plan", path.read_bytes())


def test_more_shards_than_runs_are_refused() -> None:
    with pytest.raises(errors.UsageError, match="at most 6, the number of runs, got 7"):
        shards.plan(subjects=5, controls=1, shards=7)


def damaged(**changes: Any) -> bytes:
    return json.dumps(json.loads(sharded_plans.encode(shards.plan())) | changes).encode()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "truncated"),
        (b"[]", "Expected `object`"),
        (b"\xff\xfe", "malformed"),
        (sharded_plans.encode(shards.plan())[:-200], "truncated"),
        (damaged(shards=8), "its digest is another"),
        (damaged(scenarios=[]) + b" ", "its digest is another"),
        (damaged(schema=9, runs=5), "its schema is 9"),
    ],
    ids=["empty", "list", "no text", "cut", "edited", "emptied", "schema"],
)
def test_what_is_no_plan_is_refused_in_one_sentence(
    tmp_path: pathlib.Path, content: bytes, problem: str
) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(content)
    with pytest.raises(errors.UsageError, match=f"expected a whole plan .*{problem}") as caught:
        sharded_plans.read(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_missing_is_named(tmp_path: pathlib.Path) -> None:
    with pytest.raises(errors.UsageError, match=r"none\.json \(No such file"):
        sharded_plans.read(tmp_path / "none.json")


def test_a_key_of_a_later_version_does_not_change_the_digest(tmp_path: pathlib.Path) -> None:
    """So that the message is about the version, and not about a plan that was changed."""
    later = json.loads(sharded_plans.encode(shards.plan())) | {"more": [1.5, {}]}
    later["digest"] = sharded_plans._digest(json.dumps(later).encode())
    (tmp_path / "plan.json").write_text(json.dumps(later, indent=3))
    sharded_plans.read(tmp_path / "plan.json")


@pytest.mark.parametrize(("plan", "here", "message"), cases.read(__file__, "versions"))
def test_a_plan_of_another_version_is_refused(
    monkeypatch: pytest.MonkeyPatch,
    plan: dict[str, str],
    here: dict[str, str],
    message: str | None,
) -> None:
    made = shards.plan()
    versions = run_plan.versions() | here
    monkeypatch.setattr(run_plan, "versions", lambda: versions)
    campaign = msgspec.structs.replace(made.campaign, versions=made.campaign.versions | plan)
    made = msgspec.structs.replace(made, campaign=campaign)
    if message is None:
        sharded_plans.require_same_version(made, "plan.json")
        return
    with pytest.raises(errors.UsageError, match=message):
        sharded_plans.require_same_version(made, "plan.json")


def test_a_plan_of_other_plugins_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    without = shards.plan()
    sharded_plans.require_same_machine(without, "plan.json")
    monkeypatch.setenv("FLAKE_HUNT_PLUGINS", str(EXAMPLE))
    plan = shards.plan()
    assert {plugin.kind for plugin in plan.plugins} >= {"checks", "scenarios", "subjects"}
    sharded_plans.require_same_machine(plan, "plan.json")
    with pytest.raises(errors.UsageError, match=r"also .*\(checks\) of my-plugins"):
        sharded_plans.require_same_machine(without, "plan.json")
    monkeypatch.delenv("FLAKE_HUNT_PLUGINS")
    with pytest.raises(errors.UsageError, match=r"which has no .*\(checks\) of my-plugins 0"):
        sharded_plans.require_same_machine(plan, "plan.json")


# ------------------------------------------------------------------------ shards of equal length


def test_runs_of_one_length_are_dealt_in_turn() -> None:
    assert sharded_plans.assigned([1.0] * 7, 3) == [1, 2, 3, 1, 2, 3, 1]


def test_a_long_run_has_a_shard_of_its_own() -> None:
    assert sharded_plans.assigned([1.0, 9.0, 1.0, 1.0, 1.0], 2) == [2, 1, 2, 2, 2]


@hypothesis.given(strategies.lists(strategies.floats(0.1, 100), min_size=1), strategies.data())
@hypothesis.settings(max_examples=60, deadline=None)
def test_no_shard_is_empty_and_none_has_more_than_the_fair_share_and_one_run(
    seconds: list[float], data: strategies.DataObject
) -> None:
    """The bound of Graham's list scheduling."""
    shards = data.draw(strategies.integers(1, len(seconds)))
    numbers = sharded_plans.assigned(seconds, shards)
    assert set(numbers) == set(range(1, shards + 1))
    work = [0.0] * shards
    for number, taken in zip(numbers, seconds, strict=True):
        work[number - 1] += taken
    assert max(work) <= sum(seconds) / shards + max(seconds) + 1e-9
