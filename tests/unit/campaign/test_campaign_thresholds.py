"""Thresholds in campaigns: over all runs of the tested subject, and never a double allocation."""

import pathlib
import xml.etree.ElementTree as ET
from typing import Any

import msgspec
import pytest

from harness.campaign import (
    campaign_documents,
    campaign_pages,
    campaign_plan,
    junit_files,
)
from harness.checks import verdicts
from harness.history import results
from harness.history.purposes import Purpose

VALID, UNKNOWN, INVALID = verdicts.Verdict
MISSED = "threshold pods_per_s: 3 pods/s, wanted at least 5 pods/s"
P99 = "pod_to_running.p99_ms"


def run(number: int, verdict: verdicts.Verdict | None = VALID, **said: Any) -> results.RunResult:
    known = {"scenario": "churn", "subject": "correct", "seconds": 1.0, "reason": "because"}
    return results.RunResult(**known | {"number": number, "verdict": verdict} | said)  # type: ignore[arg-type]


def plan(*thresholds: str, purpose: Purpose = Purpose.SUBJECT, runs: int = 3) -> Any:
    planned = [
        campaign_plan.PlannedRun(
            number=number,
            scenario="churn",
            title="churn",
            purpose=purpose,
            thresholds=list(thresholds),
            repetition=number,
            seed=number,
        )
        for number in range(1, runs + 1)
    ]
    return campaign_plan.CampaignPlan(seed=1, reports="", cluster={}, runs=planned)


def document(
    made: list[results.RunResult], *thresholds: str, **options: Any
) -> campaign_documents.CampaignDocument:
    return campaign_documents.document(
        made, plan(*thresholds, runs=len(made), **options), pathlib.Path()
    )


# ------------------------------------------------------------------------ thresholds of single runs


def test_a_run_that_only_missed_a_threshold_fails_and_violates_nothing() -> None:
    missed = run(1, INVALID, thresholds=[MISSED], reason=MISSED)
    assert missed.is_against_subject
    assert (missed.is_violated, missed.is_found) == (False, False)
    assert junit_files.inconclusive([missed]) == ""
    made = document([missed, run(2)])
    assert made.summary == (
        "the correct subject: no double allocation in 2 runs (95 %: under 78 % of runs); "
        "thresholds not met in 1 of 2 runs"
    )
    assert [(row.invalid, row.conclusive) for row in made.rows] == [(0, 2)]
    both = run(1, INVALID, thresholds=[MISSED], double_allocations=1)
    assert (both.is_violated, both.is_found) == (True, True)
    assert results.rate([both, run(2)]).failed == 1


@pytest.mark.parametrize(
    ("purpose", "verdict", "failure"),
    [
        (Purpose.SUBJECT, "INVALID", f"INVALID: {MISSED}"),
        (Purpose.REMEDY, "INVALID", f"INVALID: {MISSED}"),
        (Purpose.CONTROL, "UNKNOWN", "control not caught"),
        (Purpose.HAZARD, "UNKNOWN", "hazard not shown"),
        (Purpose.ASKED, "INVALID", "INVALID: a threshold that was not met, which H1"),
    ],
)
@pytest.mark.parametrize("otherwise", [False, True])
def test_nothing_is_found_or_explained_by_a_threshold(
    purpose: Purpose, verdict: str, failure: str, otherwise: bool
) -> None:
    said: dict[str, Any] = {"purpose": purpose, "shows_otherwise": otherwise, "reason": MISSED}
    said |= {"hypothesis": "H1"} if purpose.is_of_hazard else {}
    missed = run(1, INVALID, thresholds=[MISSED], **said)
    assert junit_files.failure([missed]).startswith(failure)
    made = document([missed], purpose=purpose)
    assert (made.verdict, made.rows[0].caught) == (verdict, 0)
    if purpose.must_fail:
        found = run(1, INVALID, thresholds=[MISSED], double_allocations=1, others=1, **said)
        assert document([found], purpose=purpose).verdict == "VALID"


# ----------------------------------------------------------------- thresholds of the whole campaign


def measured(*values: float | None, metric: str = P99) -> list[results.RunResult]:
    return [run(at, figures={metric: value}) for at, value in enumerate(values, start=1)]


@pytest.mark.parametrize(
    ("metric", "values", "expected"),
    [(P99, (10, 90, 20), 20), ("pod_to_running.max_ms", (10, 90, 20), 90), ("claims", (1, 2), 3)],
)
def test_each_figure_has_its_own_way_over_the_runs(
    metric: str, values: tuple[float, ...], expected: float
) -> None:
    made = document(measured(*values, metric=metric), f"campaign:{metric}<={expected}")
    assert [item.measured for item in made.thresholds] == [expected]
    assert (made.verdict, made.exit_code) == ("VALID", 0)
    assert made.summary.endswith("; 1 threshold of the campaign met")
    beyond = document(measured(*values, metric=metric), f"campaign:{metric}>={expected + 1}")
    assert (beyond.verdict, beyond.exit_code) == ("INVALID", 10)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (measured(10, None, 20), "1 of 3 runs cannot say it"),
        ([*measured(10, 20), run(3, None, error="it died")], "1 of 3 runs cannot say it"),
        (
            [run(1, cut=True, verdict=None)],
            "it needs runs of the tested subject, and there are none",
        ),
    ],
    ids=["a-figure-is-missing", "a-run-failed", "all-were-cut"],
)
def test_what_some_runs_cannot_say_is_unknown(made: list[results.RunResult], why: str) -> None:
    found = document(made, f"campaign:{P99}<=15")
    assert [(item.verdict, item.reason) for item in found.thresholds] == [(UNKNOWN, why)]
    assert found.verdict in ("UNKNOWN", "ERROR")


def test_a_threshold_that_is_not_met_outweighs_an_error() -> None:
    made = document(
        [run(1, INVALID, others=1), run(2, None, error="it died")], "campaign:invalid_rate<=0"
    )
    assert (made.verdict, made.exit_code) == ("INVALID", 10)


def test_the_rate_of_violations_and_its_upper_end() -> None:
    rates = "campaign:invalid_rate<=0", "campaign:invalid_rate_high<=0.5"
    missed = run(1, INVALID, thresholds=[MISSED], purpose=Purpose.SUBJECT)
    made = document([missed, *(run(number) for number in range(2, 11))], *rates)
    assert [item.measured for item in made.thresholds] == [0.0, 0.308498]
    found = document([run(1, INVALID, double_allocations=1), run(2, UNKNOWN), run(3)], *rates)
    assert [item.measured for item in found.thresholds] == [0.5, 0.987421]
    none = document([run(1, UNKNOWN)], *rates)
    assert {item.verdict for item in none.thresholds} == {UNKNOWN}


def test_controls_and_shards_judge_none() -> None:
    made, asked = measured(10), f"campaign:{P99}<=1"
    as_control = [msgspec.structs.replace(made[0], purpose=Purpose.CONTROL)]
    assert document(as_control, asked, purpose=Purpose.CONTROL).thresholds == []
    part = msgspec.structs.replace(plan(asked, runs=1), shard=1)
    assert campaign_documents.thresholds_judged(part, results.rows(made)) == []


# ------------------------------------------------------------------------------------ what is shown


def test_page_summary_results_and_junit_name_it(tmp_path: pathlib.Path) -> None:
    made, planned = measured(10, 30, 20), plan(f"campaign:{P99}<=15", "campaign:claims>=1")
    found = campaign_pages.publish(made, planned, tmp_path)
    page, text = (tmp_path / "index.html").read_text(), (tmp_path / "summary.md").read_text()
    assert '<h2 id="thresholds">Thresholds of the campaign</h2>' in page
    assert f"churn, correct: {P99}" in page
    assert "20 ms, wanted at most 15 ms" in page
    assert (
        "- churn, correct: threshold pod\\_to\\_running.p99\\_ms: 20 ms, wanted at most 15 ms"
        in text
    )
    written = msgspec.json.decode((tmp_path / "results.json").read_bytes())
    assert [item["verdict"] for item in written["thresholds"]] == ["INVALID", "UNKNOWN"]
    suite = ET.parse(tmp_path / junit_files.NAME).getroot()[0]
    [case] = [case for case in suite if case.get("name") == f"threshold campaign:{P99}<=15"]
    failure = case.find("failure")
    assert failure is not None
    assert (case.get("classname"), failure.get("message")) == (
        "churn (correct)",
        "20 ms, wanted at most 15 ms",
    )
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("5", "1", "1")
    assert found.exit_code == 10


def test_a_planned_campaign_has_those_of_options_and_of_scenarios(tmp_path: pathlib.Path) -> None:
    given = ["claims>=1", "campaign:invalid_rate<=0.5"]
    made = campaign_plan.plan(
        ["pod-churn"], seed=1, repeat=1, repeat_controls=0, reports=tmp_path, thresholds=given
    )
    assert [one.thresholds for one in made.runs] == [given]
    resolved = campaign_plan.resolve(made, made.runs[0])[1]
    assert [threshold.text for threshold in resolved.thresholds] == given
