"""The one sentence: its figures are those of the runs, and it says why it is not VALID."""

from typing import Any

import pytest

from harness.campaign import campaign_documents, sentences
from harness.checks import verdicts
from harness.history import results
from harness.history.purposes import Purpose

VALID, UNKNOWN, INVALID = verdicts.Verdict
KUBE = "kube-scheduler 1.36.3"


def run(verdict: verdicts.Verdict = VALID, **changes: Any) -> results.RunResult:
    said: dict[str, Any] = {"scenario": "pod-churn", "subject": "kube", "seconds": 1.0}
    return results.RunResult(**said | {"verdict": verdict} | changes)


def asked(hazard: str, verdict: verdicts.Verdict, **changes: Any) -> results.RunResult:
    named = {"scenario": f"of-{hazard}", "purpose": Purpose.ASKED, "hypothesis": hazard}
    return run(verdict, **named | changes)


def control(*, caught: bool) -> results.RunResult:
    found = {"double_allocations": 1} if caught else {}
    verdict = INVALID if caught else VALID
    return run(verdict, subject=f"defect-{caught}", purpose=Purpose.CONTROL, **found)


def said(*runs: results.RunResult) -> str:
    return sentences.of_table(results.rows(runs), KUBE)


def verdict(*runs: results.RunResult) -> verdicts.Verdict:
    return campaign_documents.verdict(results.rows(runs))


def test_valid() -> None:
    runs = [
        *[run()] * 24,
        *(asked(name, INVALID, double_allocations=3) for name in ("H1", "H3", "H7")),
        control(caught=True),
    ]
    assert said(*runs) == (
        "kube-scheduler 1.36.3: no double allocation in 24 runs (95 %: under 12 % of runs); "
        "3 known hazards shown (H1, H3, H7); 1 of 1 controls caught"
    )
    assert verdict(*runs) is VALID


def test_invalid() -> None:
    runs = [*[run()] * 9, *(run(INVALID, double_allocations=count) for count in (2, 1, 1))]
    assert said(*runs) == (
        "kube-scheduler 1.36.3: 4 double allocations in 3 of 12 runs (95 %: 5.4 to 58 % of runs), first in pod-churn"
    )


def test_violations_of_other_kinds_are_named_as_what_they_are() -> None:
    runs = [run(), run(INVALID, stuck=1), run(INVALID, scenario="watch-lag", others=2)]
    assert "no double allocation, but 1 stuck object and 2 other violations in 2 of 3" in said(
        *runs
    )


BLIND: dict[str, Any] = {"unexamined": ["device_exclusivity"]}


def test_only_runs_that_examined_exclusivity_speak_of_it() -> None:
    """A script about something else in which nothing is allocated is VALID, and says nothing."""
    assert said(run(**BLIND)) == (
        "kube-scheduler 1.36.3: no run has examined double allocations; "
        "not examined in every run: device_exclusivity"
    )
    assert verdict(run(**BLIND), control(caught=True)) is UNKNOWN
    both = (run(), run(**BLIND), run(INVALID, double_allocations=1))
    assert "no double allocation in 1 run (95 %: under 95 % of runs)" in said(*both[:2])
    assert verdict(*both[:2]) is VALID
    assert "1 double allocation in 1 of 2 runs" in said(*both)


def test_another_violation_does_not_say_that_there_was_no_double_allocation() -> None:
    text = said(run(), run(INVALID, others=1, **BLIND))
    assert text.startswith("kube-scheduler 1.36.3: 1 other violation in 1 of 2 runs")


@pytest.mark.parametrize("purpose", list(Purpose))
@pytest.mark.parametrize("changes", [{}, BLIND, {"verdict": UNKNOWN, "reason": "a gap"}])
def test_no_sentence_counts_more_runs_than_examined_it(
    purpose: Purpose, changes: dict[str, Any]
) -> None:
    is_counted = purpose is Purpose.SUBJECT and not changes
    text = said(run(**changes, purpose=purpose), run(scenario="other", **BLIND))
    assert ("no double allocation in 1 run " in text) is is_counted


def test_a_missed_control_is_unknown() -> None:
    runs = [run(), control(caught=True), control(caught=False)]
    assert said(*runs).endswith("; 1 of 2 controls caught")
    assert verdict(*runs) is UNKNOWN


def test_inconclusive_runs_are_counted_and_are_in_no_rate() -> None:
    text = said(run(), run(UNKNOWN))
    assert "in 1 run (95 %: under 95 % of runs)" in text
    assert "1 run inconclusive" in text
    assert said(run(UNKNOWN, reason="a gap")).startswith(
        "kube-scheduler 1.36.3: no run was conclusive: a gap; 1 run inconclusive"
    )


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (asked("H2", VALID), "1 known hazard not shown (H2)"),
        (asked("H2", UNKNOWN), "1 known hazard without an answer (H2)"),
        (asked("H2", INVALID, double_allocations=1), "1 known hazard shown (H2)"),
    ],
)
def test_no_answer_about_a_hazard_decides_anything(answer: results.RunResult, words: str) -> None:
    assert words in said(run(), answer)
    assert verdict(run(), answer) is VALID


@pytest.mark.parametrize("more", [{"stuck": 2}, {"others": 2}])
def test_what_a_hazard_does_not_explain_is_invalid(more: dict[str, int]) -> None:
    for own in ({}, {"double_allocations": 1}):
        found = asked("H1", INVALID, **own | more)
        assert "of-H1 shows more than H1: 2 " in said(run(), found)
        assert verdict(run(), found) is INVALID


def test_a_bound_below_one_percent_has_a_digit() -> None:
    assert "under 0.3 % of runs" in said(*[run()] * 1000)


def test_a_hunt_names_its_subject() -> None:
    table = results.rows([run(subject="correct")])
    assert sentences.of_table(table).startswith("the correct subject: no double allocation")
