"""junit.xml of a campaign from its results."""

import pathlib
import xml.etree.ElementTree as ET
from typing import Any

import msgspec
import pytest

from harness.campaign import campaign_plan, junit_files
from harness.history import results
from tests.support import cases, shards

PLAN = shards.campaign(subjects=4, controls=3)
OUTCOMES = shards.outcomes(PLAN)
SUBJECT, CONTROL = PLAN.runs[0], PLAN.runs[4]


def of_runs(*runs: campaign_plan.PlannedRun, **changes: Any) -> campaign_plan.CampaignPlan:
    return msgspec.structs.replace(PLAN, runs=list(runs), **changes)


def rendered(
    plan: campaign_plan.CampaignPlan, *found: results.RunResult
) -> tuple[ET.Element, list[tuple[str, str]]]:
    """Return the suite, and the outcome of each case with its message; empty: it passed."""
    (suite,) = ET.fromstring(junit_files.render(plan, found))
    kinds = ("failure", "error", "skipped")
    children = [[one for one in case if one.tag in kinds] for case in suite.iter("testcase")]
    return suite, [(one[0].tag, one[0].get("message", "")) if one else ("", "") for one in children]


def test_each_run_has_a_case_with_its_outcome_and_attempts() -> None:
    suite, made = rendered(PLAN, *(one for attempts in OUTCOMES.values() for one in attempts))
    assert [case.get("name") for case in suite.iter("testcase")] == [run.id for run in PLAN.runs]
    told = [
        ("", ""),
        ("failure", "INVALID: run 2"),
        ("error", "UNKNOWN: a < b & \\x00"),
        ("error", "ERROR: the run could not be executed: no engine"),
        ("", ""),
        ("", ""),
        ("failure", "control not caught, attempts: 3; the last one was VALID: run 7"),
    ]
    assert made == told
    counts = [suite.get(name) for name in ("tests", "failures", "errors", "skipped")]
    assert counts == ["7", "2", "2", "0"]
    output = [case.findtext("system-out", "").splitlines() for case in suite.iter("testcase")]
    assert [len(lines) for lines in output] == [len(attempts) for attempts in OUTCOMES.values()]
    first, second = output[5]
    assert first.startswith("attempt 1: VALID (not caught) ")
    assert second.startswith("attempt 2: INVALID (caught) ")


@pytest.mark.parametrize("run", [SUBJECT, CONTROL])
def test_runs_that_were_not_made_or_cut_are_no_failures(run: campaign_plan.PlannedRun) -> None:
    lost = {"verdict": shards.UNKNOWN, "missing": True, "reason": "lost", "double_allocations": 0}
    assert rendered(of_runs(run), shards.result(run, **lost))[1] == [("error", "UNKNOWN: lost")]
    cut = shards.result(run, verdict=None, cut=True, reason="the time budget ended")
    assert rendered(of_runs(run), cut)[1] == [("skipped", "the time budget ended")]
    other = campaign_plan.PlannedRun(number=9, scenario="s", title="s", repetition=0, seed=1)
    again = msgspec.structs.replace(run, number=10, repetition=9)
    unmade = ("skipped", "the campaign ended before this run")
    made = rendered(of_runs(run, other, again), shards.result(run))[1]
    assert made == [("", ""), unmade, unmade]
    made = rendered(of_runs(run, other, again, minutes=5), shards.result(run))[1]
    assert made == [("", ""), unmade], "a budget plans more than the time can have"
    left_out = rendered(of_runs(left_out={"one": "no carrier"}))[1]
    assert left_out == [("skipped", "no carrier")]


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
    (case,) = rendered(of_runs(run), *OUTCOMES[1])[0].iter("testcase")
    assert case.get("name") == name
    assert case.get("classname") == f"pod-churn ({tested or 'correct'})"
