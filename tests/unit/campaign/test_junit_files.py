"""junit.xml of a campaign from its results."""

import pathlib
import xml.etree.ElementTree as ET

import msgspec
import pytest

from harness.campaign import campaign_plan, junit_files
from tests.support import cases, shards

PLAN = shards.campaign(subjects=4, controls=3)
SUBJECT, CONTROL = PLAN.runs[0], PLAN.runs[4]
OUTCOMES = {
    1: [shards.result(PLAN.runs[0])],
    2: [shards.violated(PLAN.runs[1])],
    3: [shards.result(PLAN.runs[2], verdict=shards.UNKNOWN, reason="a < b & \x00")],
    4: [shards.result(PLAN.runs[3], verdict=None, error="no engine")],
    5: [shards.result(PLAN.runs[4])],
    6: [*shards.missed(PLAN.runs[5], 1), shards.result(PLAN.runs[5], attempt=1)],
    7: shards.missed(PLAN.runs[6]),
}


FOUND = [result for attempts in OUTCOMES.values() for result in attempts]


def of_runs(*runs: campaign_plan.PlannedRun) -> campaign_plan.CampaignPlan:
    return msgspec.structs.replace(PLAN, runs=list(runs))


def kinds(content: str) -> dict[str, tuple[str, list[str]]]:
    """Name of a case -> its outcome, and the attempts that its output names."""
    made = {}
    for case in ET.fromstring(content).iter("testcase"):
        names = ("failure", "error", "skipped")
        outcome = next((kind for kind in names if case.find(kind) is not None), "")
        made[case.get("name", "")] = (outcome, (case.findtext("system-out") or "").splitlines())
    return made


def test_each_run_has_a_case_with_its_outcome_and_attempts() -> None:
    made = kinds(junit_files.render(PLAN, FOUND))
    assert list(made) == [run.id for run in PLAN.runs]
    outcomes = [outcome for outcome, _ in made.values()]
    assert outcomes == ["", "failure", "error", "error", "", "", "failure"]
    assert [len(lines) for _, lines in made.values()] == [
        len(attempts) for attempts in OUTCOMES.values()
    ]
    first, second = made[PLAN.runs[5].id][1]
    assert first.startswith("attempt 1: VALID (not caught) ")
    assert second.startswith("attempt 2: INVALID (caught) ")


def test_what_fails_says_why() -> None:
    found = ET.fromstring(junit_files.render(PLAN, FOUND))
    messages = [
        case.get("message", "") for case in found.iter() if case.tag in ("failure", "error")
    ]
    assert messages[0].startswith("INVALID: ")
    assert messages[1] == "UNKNOWN: a < b & \\x00"
    assert messages[2] == "ERROR: the run could not be executed: no engine"
    assert messages[3].startswith("control not caught, attempts: 3; the last one was VALID")


def test_scenarios_that_were_left_out_are_skipped_with_the_reason() -> None:
    plan = msgspec.structs.replace(of_runs(), left_out={"one": "no carrier"})
    (case,) = ET.fromstring(junit_files.render(plan, [])).iter("testcase")
    skipped = case.find("skipped")
    assert skipped is not None
    assert (case.get("name"), skipped.get("message")) == ("one", "no carrier")


def test_the_counts_are_those_of_the_cases() -> None:
    (suite,) = ET.fromstring(junit_files.render(PLAN, FOUND))
    counts = [suite.get(name) for name in ("tests", "failures", "errors", "skipped")]
    assert counts == ["7", "2", "2", "0"]


def test_a_run_without_a_result_is_an_error() -> None:
    for run in (SUBJECT, CONTROL):
        missing = shards.result(
            run,
            verdict=shards.UNKNOWN,
            missing=True,
            reason="shard 2 of 3 is missing",
            double_allocations=0,
        )
        (case,) = ET.fromstring(junit_files.render(of_runs(run), [missing])).iter("testcase")
        error = case.find("error")
        assert error is not None
        assert error.get("message") == "UNKNOWN: shard 2 of 3 is missing"
        assert case.find("failure") is None


def test_a_run_that_was_cut_is_skipped() -> None:
    cut = shards.result(SUBJECT, verdict=None, cut=True, reason="the time budget ended")
    (suite,) = ET.fromstring(junit_files.render(of_runs(SUBJECT), [cut]))
    (skipped,) = suite.iter("skipped")
    assert skipped.get("message") == "the time budget ended"
    assert [suite.get(name) for name in ("errors", "failures", "skipped")] == ["0", "0", "1"]


def test_runs_that_were_not_made_are_skipped() -> None:
    other = campaign_plan.PlannedRun(number=9, scenario="s", title="s", repetition=0, seed=1)
    again = msgspec.structs.replace(SUBJECT, number=10, repetition=9)
    plan = of_runs(SUBJECT, other, again)
    made = kinds(junit_files.render(plan, OUTCOMES[1]))
    assert [outcome for outcome, _ in made.values()] == ["", "skipped", "skipped"]
    budgeted = msgspec.structs.replace(plan, minutes=5)
    assert list(kinds(junit_files.render(budgeted, OUTCOMES[1]))) == [SUBJECT.id, other.id]


def test_cases_are_named_by_scenario_and_subject(tmp_path: pathlib.Path) -> None:
    """Without the folder of the reports."""
    made = shards.result(SUBJECT, directory=f"{tmp_path}/pod-churn/20260101T000000Z-aa")
    folder = tmp_path / "campaigns" / "one"
    error = shards.result(
        CONTROL, verdict=None, error=f"no {tmp_path}/pod-churn/x {junit_files.__file__}"
    )
    content = junit_files.render(of_runs(SUBJECT, CONTROL), [made, error])
    text = junit_files.portable(content, folder)
    assert [case.get("classname") for case in ET.fromstring(text).iter("testcase")] == [
        "pod-churn (correct)",
        f"pod-churn ({shards.DEFECT})",
    ]
    assert "attempt 1: VALID run 1 pod-churn/20260101T000000Z-aa" in text
    assert "no pod-churn/x harness/campaign/junit_files.py" in text
    assert str(tmp_path) not in text


@pytest.mark.parametrize(("tested", "name"), cases.read(__file__, "names"))
def test_a_new_version_is_the_same_case_and_another_class(tested: str, name: str) -> None:
    run = msgspec.structs.replace(SUBJECT, tested=tested, repetition=0)
    (case,) = ET.fromstring(junit_files.render(of_runs(run), OUTCOMES[1])).iter("testcase")
    assert case.get("name") == name
    assert case.get("classname") == f"pod-churn ({tested or 'correct'})"
