"""The plan of a campaign over machines: its shards, and what is refused."""

import json
import pathlib
import re
from typing import Any

import msgspec
import pytest

from harness import errors
from harness.campaign import campaign_plan
from harness.campaign.sharding import shard_folders, sharded_plans
from harness.run import run_plan
from harness.scenario import loading
from tests.support import cases, schemas, shards


def real(tmp_path: pathlib.Path, **changes: Any) -> campaign_plan.CampaignPlan:
    options: dict[str, Any] = {"seed": 3, "repeat": 2, "repeat_controls": 2, "reports": tmp_path}
    return campaign_plan.plan(["answer-lost", "pod-churn"], **options | changes)


def test_every_run_of_the_campaign_is_in_one_shard(tmp_path: pathlib.Path) -> None:
    campaign = real(tmp_path)
    plan = sharded_plans.make(campaign, shards=4)
    parts = [run.number for shard in range(1, 5) for run in plan.runs_of(shard)]
    assert sorted(parts) == [run.number for run in campaign.runs]
    assert [msgspec.structs.replace(run, shard=0) for run in plan.runs] == campaign.runs
    assert {scenario.given: scenario.text for scenario in plan.scenarios} == {
        name: loading.load(name).text for name in ("answer-lost", "pod-churn")
    }


def test_all_shards_take_about_the_same_time() -> None:
    """None has more than its fair share and the longest run, and none is empty."""
    campaign = shards.campaign(subjects=9, controls=4)
    seconds = [1.0, 9.0, 2.5, 1.0, 30.0, 4.0, 4.0, 0.5, 12.0, 3.0, 7.0, 1.0, 1.0]
    runs = [
        msgspec.structs.replace(run, estimate_s=taken)
        for run, taken in zip(campaign.runs, seconds, strict=True)
    ]
    plan = sharded_plans.make(msgspec.structs.replace(campaign, runs=runs), shards=4)
    work = [sum(run.estimate_s for run in plan.runs_of(shard)) for shard in range(1, 5)]
    assert min(work) > 0
    assert max(work) <= sum(seconds) / 4 + max(seconds)


def test_the_same_campaign_writes_the_same_bytes(tmp_path: pathlib.Path) -> None:
    """Neither the time nor the folder of reports is in it."""
    first = sharded_plans.make(real(tmp_path), shards=4)
    again = sharded_plans.make(real(tmp_path / "other"), shards=4)
    assert sharded_plans.encode(first) == sharded_plans.encode(again)
    assert sharded_plans.make(real(tmp_path, seed=4), shards=4).digest != first.digest
    sharded_plans.write(tmp_path / "plan.json", first)
    assert sharded_plans.read(tmp_path / "plan.json") == first
    schemas.obeying("plan", (tmp_path / "plan.json").read_bytes())


def damaged(**changes: Any) -> bytes:
    return json.dumps(json.loads(sharded_plans.encode(shards.plan())) | changes).encode()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "No such file"),
        (b"", "truncated"),
        (b"[]", "Expected `object`"),
        (b"\xff\xfe", "malformed"),
        (sharded_plans.encode(shards.plan())[:-200], "truncated"),
        (damaged(shards=8), "its digest is another"),
        (damaged(schema=9, runs=5), "got 9"),
    ],
    ids=["missing", "empty", "list", "no text", "cut", "edited", "schema"],
)
def test_what_is_no_plan_is_refused_in_one_sentence(
    tmp_path: pathlib.Path, content: bytes | None, problem: str
) -> None:
    path = tmp_path / "plan.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(errors.UsageError, match=f"expected a whole plan .*{problem}") as caught:
        sharded_plans.read(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


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


# ------------------------------------------------------------------------ the shard of a machine

JOB, ARRAY = "JOB_COMPLETION_INDEX", "SLURM_ARRAY_TASK_ID"


@pytest.mark.parametrize(
    ("option", "environment", "number", "why"),
    [
        ("1/20", {}, 1, "--shard"),
        ("20/20", {JOB: "3"}, 20, "--shard"),
        ("2/20", {JOB: "0", ARRAY: "1"}, 2, "--shard"),
        ("all", {JOB: "3"}, 0, "--shard all"),
        (None, {}, 0, ""),
        (None, {JOB: ""}, 0, ""),
        (None, {JOB: "0"}, 1, f"{JOB}=0, which counts from 0"),
        (None, {JOB: "19"}, 20, f"{JOB}=19, which counts from 0"),
        (None, {ARRAY: "20"}, 20, f"{ARRAY}=20, which counts from 1"),
    ],
)
def test_the_option_goes_before_the_environment(
    option: str | None, environment: dict[str, str], number: int, why: str
) -> None:
    assert shard_folders.choose(option, environment, shards=20) == (number, why)


OPTION = "expected --shard 1/20 to 20/20, or all"
OTHERS = ["0/20", "21/20", "1/10", "1", "1/", "/20", "x/20", "-1/20", "1/20/3", "", "٣/20 "]


@pytest.mark.parametrize(
    ("option", "environment", "message"),
    [
        *((option, {}, OPTION) for option in OTHERS),
        (None, {JOB: "20"}, f"expected {JOB} to be 0 to 19.*completions: 20"),
        (None, {JOB: "x"}, f"expected {JOB} to be 0 to 19"),
        (None, {JOB: "²"}, f"expected {JOB} to be 0 to 19"),
        (None, {ARRAY: "0"}, f"expected {ARRAY} to be 1 to 20.*--array=1-20"),
        (None, {JOB: "1", ARRAY: "1"}, f"{OPTION}.*got {JOB} and {ARRAY}"),
    ],
)
def test_a_shard_that_the_plan_does_not_have_is_refused(
    option: str | None, environment: dict[str, str], message: str
) -> None:
    with pytest.raises(errors.UsageError) as caught:
        shard_folders.choose(option, environment, shards=20)
    assert re.search(message, str(caught.value))
