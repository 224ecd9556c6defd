"""The scenarios of a test: those that fit, with hazards that are asked for, and controls."""

import functools
import pathlib
import re
from typing import Any

import msgspec
import pytest

from harness import errors
from harness.campaign import budgets, campaign_plan
from harness.campaign.programs import fitting, program_plans, tested_programs
from harness.history.purposes import Purpose
from harness.run import run_plan
from harness.scenario import loading, profiles
from tests.support import cases

OURS = tested_programs.TestedProgram(kind="python", name="ours", subject="python")
MINE = tested_programs.TestedProgram(
    kind="command", name="mine", subject="command=true {kubeconfig} {scheduler_name}"
)
KUBE = tested_programs.TestedProgram(
    kind="kube-scheduler", name="kube-scheduler", subject="command=true {kubeconfig}"
)


def planned(
    program: tested_programs.TestedProgram, *scenarios: str, **changes: object
) -> campaign_plan.CampaignPlan:
    program = msgspec.structs.replace(program, choice="chosen" if scenarios else "quick")
    return program_plans.plan(
        msgspec.structs.replace(program, **changes),
        scenarios,
        seed=1,
        repeat=1,
        reports=pathlib.Path("reports"),
        cluster=profiles.load("embedded"),
    )


def titles(plan: campaign_plan.CampaignPlan, purpose: Purpose) -> list[str]:
    return [run.title for run in plan.runs if run.purpose is purpose]


@pytest.mark.parametrize("case", cases.read(__file__, "plans"))
def test_what_a_test_has(case: dict[str, Any]) -> None:
    def plan() -> campaign_plan.CampaignPlan:
        return planned(
            {"ours": OURS, "mine": MINE}[case["of"]],
            *case.get("scenarios", ()),
            must_survive=program_plans.require_hazards(case.get("survives", [])),
            only_lists=case.get("only_lists", []),
        )

    if "refused" in case:
        with pytest.raises(errors.UsageError, match=re.escape(case["refused"])):
            plan()
        return
    made = plan()
    assert made.program is not None
    for purpose in {"subject", "hazard", "remedy", "asked"} & case.keys():
        assert titles(made, Purpose(purpose)) == case[purpose]
    assert len(titles(made, Purpose.CONTROL)) == case.get("controls", 1)
    assert [item.scenario for item in made.program.left_out] == case.get("left_out", [])
    assert made.program.counted == case.get("counted", [])
    assert "says" not in case or made.program.sentences[-1].startswith(case["says"])
    assert {run.tested.split()[:1] == ["true"] for run in made.runs if not run.defects} == {
        case["of"] == "mine"
    }


def test_the_control_of_a_quick_test_is_found_soonest_with_our_scheduler() -> None:
    (control,) = (run for run in planned(MINE).runs if run.purpose is Purpose.CONTROL)
    every = [run for run in planned(MINE, "pod-churn").runs if run.purpose is Purpose.CONTROL]
    assert control.estimate_s == min(run.estimate_s for run in every)
    assert control.subjects == ["python"]


def test_what_the_release_cannot_read_is_left_out_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real, bad = run_plan.plan, {"failover"}

    def plan(loaded: loading.Loaded, **options: Any) -> Any:
        if loaded.scenario.name in bad:
            raise errors.UsageError(f"too old for {loaded.scenario.name}")
        return real(loaded, **options)

    monkeypatch.setattr(run_plan, "plan", plan)
    made = planned(MINE)
    assert made.program is not None
    left_out = [(item.scenario, item.reason) for item in made.program.left_out]
    assert left_out == [("failover", "too old for failover")]
    assert (made.left_out, made.selection) == ({}, []), "the program says it"
    bad.update(fitting.QUICK)
    with pytest.raises(errors.UsageError, match="too old for pod-churn"):
        planned(MINE)


def fits(program: tested_programs.TestedProgram) -> tuple[list[str], dict[str, str], list[str]]:
    """Return what fits, what does not and why, and what is not tried."""
    load = functools.cache(loading.load)
    names = fitting.of_choice(program, load)
    reasons = {name: fitting.misfit(program, load(name).scenario) for name in names}
    chosen = [name for name in names if not reasons[name]]
    left_out = {name: why for name, why in reasons.items() if why}
    return chosen, left_out, fitting.not_tried(chosen, load)


def test_a_stranger_need_not_know_more_than_whole_devices() -> None:
    """A pod that waits for ever for want of a feature would be taken for a fault."""
    chosen, _, not_tried = fits(msgspec.structs.replace(MINE, choice="default"))
    assert "shared-claims" not in chosen
    assert "claims that pods share" in not_tried
    assert "shared-claims" in fits(msgspec.structs.replace(KUBE, choice="default"))[0]
    chosen, reasons, not_tried = fits(msgspec.structs.replace(MINE, choice="all"))
    assert reasons["partitions"].startswith("not every scheduler knows ")
    assert "partitions of devices" in reasons["partitions"]
    assert {"pod-churn", "failover"} <= {*chosen}
    assert "partitions of devices" in not_tried


def test_all_is_all_that_is_about_schedulers() -> None:
    chosen, reasons, not_tried = fits(msgspec.structs.replace(KUBE, choice="all"))
    assert {"partitions", "capacities", "two-schedulers"} <= {*chosen}
    assert not {"driver-fails", "evictions", "two-templates"} & {*chosen}
    assert not_tried == []
    assert set(reasons) == {"api-server-restart", "nemesis"}


@pytest.mark.parametrize("program", [OURS, MINE, KUBE])
def test_a_budget_begins_with_the_subject_and_with_short_runs(
    program: tested_programs.TestedProgram,
) -> None:
    plan = budgets.planned(planned(program), 2, begun_ns=0, jobs=2)
    first = plan.runs[: len(plan.kinds)]
    order = [(list(Purpose).index(run.purpose), run.estimate_s) for run in first]
    assert order == sorted(order)
    assert first[0].purpose is Purpose.SUBJECT
    assert [run.kind for run in first] == [*plan.kinds]


def test_a_budget_asks_twice() -> None:
    plan = budgets.planned(planned(MINE), 2, begun_ns=0, jobs=2)
    assert titles(plan, Purpose.ASKED).count("answer-lost") == 2
    assert titles(plan, Purpose.SUBJECT).count("pod-churn") > 2


def test_a_hazard_for_which_there_was_no_time_does_not_make_unknown() -> None:
    runs = planned(MINE).runs
    assert [run for run in runs if not budgets.decides(run)] == [
        run for run in runs if run.purpose is Purpose.ASKED
    ]
