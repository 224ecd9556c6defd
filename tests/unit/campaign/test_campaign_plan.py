"""The runs of a campaign."""

import collections
import pathlib
from typing import Any

import pytest

from harness import errors
from harness.campaign import campaign_plan
from harness.cluster import interfaces
from harness.history.purposes import Purpose
from harness.scenario import loading
from tests.stand_ins import commands
from tests.support import cases


def planned(tmp_path: pathlib.Path, **changes: object) -> campaign_plan.CampaignPlan:
    arguments = {
        "scenarios": ["pod-churn"],
        "seed": 1,
        "repeat": 2,
        "repeat_controls": 1,
        "reports": tmp_path,
        **changes,
    }
    return campaign_plan.plan(**arguments)  # type: ignore[arg-type]


def test_seeds_differ_between_runs_and_not_between_campaigns(tmp_path: pathlib.Path) -> None:
    seeds = [run.seed for run in planned(tmp_path).runs]
    assert len(set(seeds)) == len(seeds)
    assert seeds == [run.seed for run in planned(tmp_path).runs]
    assert seeds != [run.seed for run in planned(tmp_path, seed=2).runs]


@pytest.mark.parametrize(("ask", "message"), cases.read(__file__, "refused"))
def test_what_cannot_be_run(tmp_path: pathlib.Path, ask: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.UsageError, match=message):
        planned(tmp_path, **ask)


@pytest.mark.parametrize("case", cases.read(__file__, "planned"), ids=lambda case: str(case["ask"]))
def test_what_is_planned(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, case: dict[str, Any]
) -> None:
    commands.install(tmp_path, "kube-controller-manager")
    monkeypatch.setenv("KUBE_BINARIES", str(tmp_path))
    plan = planned(tmp_path, **case["ask"])
    found: collections.Counter[str] = collections.Counter()
    for run in plan.runs:
        is_control = run.purpose is Purpose.CONTROL
        words = (run.purpose, run.subject, run.hypothesis, run.claim_controller)
        found["controls" if is_control else " ".join(filter(None, words))] += 1
        if run.purpose in {Purpose.CONTROL, Purpose.REMEDY} and not case["ask"].get("remedies"):
            assert run.subjects == ["python"]
        if is_control:
            assert (run.remedies, run.release, run.claim_controller) == ([], "", "")
    assert [f"{count} {text}" for text, count in found.items()] == case["runs"]
    assert len({run.id for run in plan.runs}) == len(plan.runs)
    left_out = case.get("left_out", {})
    assert plan.left_out.keys() == left_out.keys()
    assert all(part in plan.left_out[name] for name, part in left_out.items())
    assert [text.partition(" left out: ")[0] for text in plan.selection] == [*left_out]
    if "claim_controller" in case["ask"]:
        assert plan.versions["claim-controller"] == "kube-controller-manager v1.36.4"


@pytest.mark.parametrize(("own", "chosen", "of_controls"), cases.read(__file__, "controllers"))
def test_controls_have_our_claim_controller_unless_one_works_already(
    own: object, chosen: str, of_controls: str
) -> None:
    loaded = loading.load("controller-down").scenario
    subject = loaded.subject.model_validate({"claim_controller": own})
    both = ["gather-not-atomic", "controller-claims-not-enqueued"]
    scenario = loaded.model_copy(update={"subject": subject, "controls": both})
    found = campaign_plan._controller_of_controls(scenario, chosen)
    assert found == of_controls
    possible = campaign_plan.controls(scenario, interfaces.Capabilities(), found)
    assert possible == (both[:1] if of_controls == "external" else both)
    theirs = interfaces.Capabilities(claim_controller=True)
    assert campaign_plan.controls(scenario, theirs, found) == both[:1]


@pytest.mark.parametrize(("keys", "otherwise"), cases.read(__file__, "otherwise"))
def test_some_defects_and_hazards_show_in_other_ways(keys: dict[str, Any], otherwise: bool) -> None:
    run = campaign_plan.PlannedRun(scenario="s", title="s", repetition=0, seed=1, **keys)
    assert run.shows_otherwise is otherwise
