"""Controls are caught once in a bisection, and again in the next one."""

import pathlib

import msgspec

from harness.campaign import bisect_controls, bisection, campaign_plan
from harness.campaign.purposes import Purpose


def plan(*defects: str, start: str = "one") -> campaign_plan.CampaignPlan:
    runs = [
        campaign_plan.PlannedRun(
            scenario="churn",
            title="churn",
            purpose=Purpose.CONTROL if defect else Purpose.SUBJECT,
            defects=[defect] if defect else [],
            repetition=0,
            seed=1,
        )
        for defect in ("", *defects)
    ]
    step = bisection.Step(rate=0.3, confidence=0.95, start=start)
    return campaign_plan.CampaignPlan(
        seed=1, reports="r", cluster={"name": "embedded"}, runs=runs, bisect_step=step
    )


def are_caught(reports: pathlib.Path, asked: campaign_plan.CampaignPlan) -> bool:
    assert asked.bisect_step is not None
    return bisect_controls.are_caught(reports, asked, asked.bisect_step)


def test_the_same_controls_of_the_same_bisection_are_known(tmp_path: pathlib.Path) -> None:
    assert not are_caught(tmp_path, plan("a", "b"))
    bisect_controls.remember(tmp_path, plan("a", "b"))
    assert are_caught(tmp_path, plan("b", "a"))
    bisect_controls.remember(tmp_path, plan())  # the next step, without controls
    assert are_caught(tmp_path, plan("b", "a"))


def test_others_are_not(tmp_path: pathlib.Path) -> None:
    bisect_controls.remember(tmp_path, plan("a"))
    assert not are_caught(tmp_path, plan("a", "b"))
    assert not are_caught(tmp_path, plan("a", start="two"))
    other = msgspec.structs.replace(plan("a"), cluster={"name": "kind"})
    assert not are_caught(tmp_path, other)


def test_without_git_nothing_is_remembered(tmp_path: pathlib.Path) -> None:
    bisect_controls.remember(tmp_path, plan("a", start=""))
    assert list(tmp_path.iterdir()) == []
    assert not are_caught(tmp_path, plan("a", start=""))


def test_a_damaged_note_is_none(tmp_path: pathlib.Path) -> None:
    (tmp_path / bisect_controls.NAME).write_text("{")
    assert not are_caught(tmp_path, plan("a"))
