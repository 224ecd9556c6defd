"""The plan of a campaign over machines: what it has, and which plans are refused."""

import json
import pathlib
from typing import Any

import msgspec
import pytest

from harness import errors
from harness.campaign import campaign_plan
from harness.campaign.purposes import Purpose
from harness.campaign.sharding import sharded_plans
from harness.run import run_plan
from harness.scenario import loading
from tests.support import schemas, shards


def real(tmp_path: pathlib.Path, **changes: Any) -> campaign_plan.CampaignPlan:
    options: dict[str, Any] = {"seed": 3, "repeat": 2, "repeat_controls": 2, "reports": tmp_path}
    return campaign_plan.plan(["answer-lost", "pod-churn"], **options | changes)


def test_every_run_of_the_campaign_is_in_one_shard(tmp_path: pathlib.Path) -> None:
    campaign = real(tmp_path)
    plan = sharded_plans.make(campaign, shards=4, durations={})
    parts = [run.number for shard in range(1, 5) for run in plan.runs_of(shard)]
    assert (
        sorted(parts) == [run.number for run in campaign.runs] == [run.number for run in plan.runs]
    )
    for run, planned in zip(plan.runs, campaign.runs, strict=True):
        fields = {name: getattr(run, name) for name in planned.__struct_fields__}
        assert fields == msgspec.structs.asdict(planned)


def test_it_has_settings_and_texts_of_its_scenarios(tmp_path: pathlib.Path) -> None:
    plan = sharded_plans.make(real(tmp_path), shards=2, durations={})
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
    first = sharded_plans.make(real(tmp_path), shards=4, durations={})
    again = sharded_plans.make(real(tmp_path / "other"), shards=4, durations={})
    assert sharded_plans.encode(first) == sharded_plans.encode(again)
    other = sharded_plans.make(real(tmp_path, seed=4), shards=4, durations={})
    assert other.digest != first.digest


def test_it_survives_its_file_and_obeys_its_schema(tmp_path: pathlib.Path) -> None:
    plan = sharded_plans.make(real(tmp_path), shards=4, durations={("pod-churn", "correct"): 2.5})
    path = tmp_path / "plan.json"
    sharded_plans.write(path, plan)
    assert sharded_plans.read(path) == plan
    schemas.obeying("plan", path.read_bytes())
    expected = {run.expected_s for run in plan.runs if run.subject == "correct"}
    assert expected == {2.5, None}, "answer-lost has no known duration"


def test_more_shards_than_runs_are_refused() -> None:
    with pytest.raises(errors.UsageError, match="at most 6, the number of runs, got 7"):
        shards.plan(subjects=5, controls=1, shards=7)


def damaged(**changes: Any) -> bytes:
    return json.dumps(json.loads(sharded_plans.encode(shards.plan())) | changes).encode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "expected a whole plan .* got something else"),
        (b"[]", "expected a whole plan .* got something else"),
        (b"\xff\xfe", "expected a whole plan .* got something else"),
        (sharded_plans.encode(shards.plan())[:-200], "expected a whole plan"),
        (damaged(seed=8), "got one that was changed afterwards"),
        (damaged(runs=[]), "got one that was changed afterwards"),
        (damaged(schema=2), "expected a plan of schema 1, got schema 2 of Flake Hunt '0.1.0'"),
        (damaged(schema=2, runs=5), "expected a plan of schema 1, got schema 2"),
    ],
    ids=["empty", "list", "no text", "cut", "edited", "emptied", "schema", "other schema"],
)
def test_what_is_no_plan_is_refused_in_one_sentence(
    tmp_path: pathlib.Path, content: bytes, message: str
) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(content)
    with pytest.raises(errors.UsageError, match=message) as caught:
        sharded_plans.read(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_key_of_a_later_version_does_not_change_the_digest(tmp_path: pathlib.Path) -> None:
    """So that the message is about the version, and not about a plan that was changed."""
    later = json.loads(sharded_plans.encode(shards.plan())) | {"version": "9.9", "more": [1.5, {}]}
    later["digest"] = sharded_plans._digest(json.dumps(later).encode())
    plan = sharded_plans.decode(json.dumps(later, indent=3).encode(), "plan.json")
    with pytest.raises(errors.UsageError, match=r"got one of '9\.9'"):
        sharded_plans.require_same_version(plan, "plan.json")


def test_a_file_that_is_missing_is_named(tmp_path: pathlib.Path) -> None:
    with pytest.raises(errors.UsageError, match=r"none\.json, which cannot be read"):
        sharded_plans.read(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("plan", "here", "message"),
    [
        ({"version": "9.9"}, {}, "install that version here"),
        ({"commit": "abc"}, {"commit": "def"}, "got one of 'abc': check that commit out"),
        ({"commit": "abc"}, {"commit": "abc"}, None),
        ({"commit": "abc"}, {"commit": "unknown (not a checkout)"}, None),
        ({"commit": "unknown (not a checkout)"}, {"commit": "def"}, None),
    ],
)
def test_a_plan_of_another_version_is_refused(
    monkeypatch: pytest.MonkeyPatch,
    plan: dict[str, str],
    here: dict[str, str],
    message: str | None,
) -> None:
    versions = run_plan.versions() | here
    monkeypatch.setattr(run_plan, "versions", lambda: versions)
    made = msgspec.structs.replace(shards.plan(), **plan)
    if message is None:
        sharded_plans.require_same_version(made, "plan.json")
        return
    with pytest.raises(errors.UsageError, match=message):
        sharded_plans.require_same_version(made, "plan.json")
