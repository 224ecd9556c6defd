"""The second side as a fix: from the answers of the tests, and how often it is said wrongly."""

import dataclasses
import random

import pytest

from harness.comparison import comparing, fixes, rate_comparisons
from harness.comparison.documents import Answer, FixAnswer
from harness.statistics import rates
from harness.statistics.rates import Rate

LABELS = ("A", "B")


def compared(first: Rate, second: Rate, scenario: str = "churn") -> fixes.Compared:
    test = rate_comparisons.one(first, second)
    comparing.decide([test])
    return fixes.Compared(scenario, first, second, test.answer)


@pytest.mark.parametrize(
    ("first", "second", "answer"),
    [
        (Rate(14, 20), Rate(0, 20), FixAnswer.WORKS),
        (Rate(14, 20), Rate(3, 20), FixAnswer.WORKS),
        (Rate(0, 20), Rate(14, 20), FixAnswer.WORSE),
        (Rate(3, 20), Rate(0, 20), FixAnswer.NOT_SHOWN),
        (Rate(0, 0), Rate(0, 20), FixAnswer.NOT_SHOWN),
    ],
)
def test_one_scenario(first: Rate, second: Rate, answer: FixAnswer) -> None:
    found = fixes.fix(LABELS, [compared(first, second)], is_worse_overall=None)
    assert found.answer is answer
    assert found.confidence == 0.95


def test_runs_that_are_unknown_are_said() -> None:
    pair = dataclasses.replace(compared(Rate(14, 20), Rate(0, 20)), unknown=3)
    found = fixes.fix(LABELS, [pair], is_worse_overall=None)
    assert found.text.endswith("; 3 runs are UNKNOWN and not counted")


def test_a_fix_of_one_scenario_that_breaks_another_is_none() -> None:
    good, bad = compared(Rate(14, 20), Rate(0, 20)), compared(Rate(0, 20), Rate(9, 20), "other")
    found = fixes.fix(LABELS, [good, bad], is_worse_overall=False)
    assert found.answer is FixAnswer.WORSE
    assert ": other, A 0 of 20 runs" in found.text


def test_all_scenarios_together_can_show_it() -> None:
    few = compared(Rate(2, 6), Rate(0, 6))
    assert few.answer is Answer.UNDECIDED
    found = fixes.fix(LABELS, [few] * 4, is_worse_overall=False)
    assert found.answer is FixAnswer.WORKS
    assert found.text.endswith("over 4 scenarios and subjects together")
    assert fixes.fix(LABELS, [few] * 4, is_worse_overall=None).answer is FixAnswer.NOT_SHOWN


def test_three_runs_of_a_side_show_no_fix() -> None:
    found = fixes.fix(LABELS, [compared(Rate(3, 3), Rate(0, 3))], is_worse_overall=None)
    assert found.answer is FixAnswer.NOT_SHOWN
    assert "fewer than 4 runs on a side show nothing" in found.text


@pytest.mark.parametrize("runs", [4, 5, 20])
def test_the_fall_is_what_the_answer_says(runs: int) -> None:
    """The exact interval may reach below zero, which the test has excluded."""
    pair = compared(Rate(runs, runs), Rate(0, runs))
    found = fixes.fix(LABELS, [pair], is_worse_overall=None)
    assert found.answer is FixAnswer.WORKS
    least = found.text.rpartition("the rate falls by ")[2].removesuffix(" percentage points")
    assert least == ("60 to 100" if runs == 20 else least)
    assert "-" not in least
    worse = fixes.fix(LABELS, [compared(pair.second, pair.first)], is_worse_overall=None)
    assert worse.text.endswith(f"the rate rises by {least} percentage points")


def test_runs_that_cannot_be_read_show_no_fix() -> None:
    pair = compared(Rate(14, 20), Rate(0, 20))
    found = fixes.fix(LABELS, [pair], is_worse_overall=None, unread=["B"])
    assert found.answer is FixAnswer.NOT_SHOWN
    assert found.text == "not shown that B fixes A: runs of B could not be read"
    worse = fixes.fix(
        LABELS, [compared(pair.second, pair.first)], is_worse_overall=None, unread="B"
    )
    assert worse.answer is FixAnswer.WORSE


def test_the_interval_of_the_fall_contains_it() -> None:
    drawn, missed = random.Random(5), 0
    for _ in range(300):
        first = Rate(sum(drawn.random() < 0.4 for _ in range(15)), 15)
        second = Rate(sum(drawn.random() < 0.1 for _ in range(25)), 25)
        low, high = rates.fall(first, second)
        missed += not low <= 0.3 <= high
    assert missed <= 15
    assert rates.fall(Rate(0, 0), Rate(0, 0)) == (-1.0, 1.0)
