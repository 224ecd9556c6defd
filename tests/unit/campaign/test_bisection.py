"""A step of a bisection: how many runs it needs, and that the whole search keeps its promise."""

import math
import random

import pytest

from harness import errors
from harness.campaign import bisection
from harness.statistics import rates
from harness.statistics.confidence_sequences import Answer, Question

Step = bisection.Step


def right(revisions: int, first_bad: int, rate: float, *, skips: int = 0) -> float:
    """The exact probability that a search names the right one of these revisions.

    As git does: the last one is known to be bad, the one before the first to be good. Each bad
    revision on the way must be found bad. `skips` more steps ask about bad ones at the end.
    """
    low, high, number, chance = 0, revisions, 1, 1.0
    steps = bisection.steps_for(revisions)
    while high - low > 1:
        middle = (low + high) // 2
        if middle >= first_bad:
            chance *= 1 - Step(rate=rate, confidence=0.95, steps=steps, number=number).missed
            high = middle
        else:
            low = middle
        number += 1
    for later in range(number, number + skips):
        chance *= 1 - Step(rate=rate, confidence=0.95, steps=steps, number=later).missed
    return chance


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.9])
def test_the_whole_search_is_right_with_its_confidence(rate: float) -> None:
    worst = min(
        right(revisions, first_bad, rate)
        for revisions in (1, 2, 3, 5, 11, 64, 100)
        for first_bad in range(1, revisions + 1)
    )
    assert worst >= 0.95


def test_so_it_is_however_many_steps_git_adds() -> None:
    assert right(11, 1, 0.3, skips=40) >= 0.95


def test_searches_that_end_their_steps_at_the_first_failure_are_right() -> None:
    """20,000 searches among eleven revisions, run by run, at the worst place for the defect."""
    stream, wrong, made = random.Random(1), 0, 0
    steps = [Step(rate=0.3, confidence=0.95, steps=4, number=number) for number in range(1, 5)]
    for _ in range(20_000):
        for step in steps:  # the first revision is to blame: each of the steps meets a bad one
            rate = rates.Rate(0, 0)
            while step.answer(rate) is Answer.UNDECIDED:
                rate = rates.Rate(int(stream.random() < 0.3), rate.runs + 1)
            made += rate.runs
            if step.answer(rate) is Answer.BELOW:
                wrong += 1
                break
    assert 0.95 <= 1 - wrong / 20_000 <= 0.97
    assert made / 80_000 < 4


def test_a_step_needs_the_runs_that_its_part_of_the_error_asks_for() -> None:
    step = Step(rate=0.3, confidence=0.95, steps=4)
    assert (step.missed_max, step.runs) == (pytest.approx(0.01), 13)
    assert 0.7**13 <= 0.01 < 0.7**12
    later = [Step(rate=0.3, confidence=0.95, steps=4, number=number).runs for number in range(1, 8)]
    assert later == [13, 13, 13, 13, 15, 17, 19]
    assert math.isclose(step.missed, 0.7**13)


@pytest.mark.parametrize(
    ("invalid", "runs", "answer"),
    [
        (0, 12, Answer.UNDECIDED),
        (0, 13, Answer.BELOW),
        (1, 1, Answer.AT_LEAST),
        (1, 13, "at least"),
    ],
)
def test_one_failure_is_proof(invalid: int, runs: int, answer: Answer) -> None:
    assert Step(rate=0.3, confidence=0.95, steps=4).answer(rates.Rate(invalid, runs)) == answer


def test_runs_without_an_answer_end_a_step_when_no_more_have_one() -> None:
    step = Step(rate=0.3, confidence=0.95, steps=4)
    given_up = [
        (runs, inconclusive)
        for runs in range(6)
        for inconclusive in range(6)
        if step.gives_up(rates.Rate(0, runs), inconclusive)
    ]
    assert given_up == [(runs, at) for runs in range(6) for at in range(max(3, runs), 6)]
    assert step.runs_max == 26


@pytest.mark.parametrize(
    ("revisions", "steps"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (11, 4), (1024, 10)]
)
def test_git_needs_as_many_steps_as_the_logarithm(revisions: int, steps: int) -> None:
    assert bisection.steps_for(revisions) == steps


def test_a_line_says_what_git_is_told_and_why() -> None:
    step = Step(rate=0.3, confidence=0.95, steps=4, number=3, about=4, invalid=1, start="x")
    valid = [bisection.Counted(rate=rates.Rate(0, 13))]
    assert bisection.sentence(step, valid, 0) == (
        "step 3 of about 4: good: 13 of 13 runs VALID; a defect that shows in 30 % of runs would have been missed with "
        "0.97 %; whole chain 95 %"
    )
    invalid = [bisection.Counted(rate=rates.Rate(1, 3), inconclusive=1)]
    assert bisection.sentence(step, invalid, 10, "reports/a") == (
        "step 3 of about 4: bad: run 4 is INVALID, which is proof (reports/a)"
    )
    unknown = [bisection.Counted(rate=rates.Rate(0, 2), inconclusive=3)]
    assert bisection.sentence(step, unknown, 20) == (
        "step 3 of about 4: cannot tell: 2 of 5 runs VALID, 13 needed"
    )


def test_a_search_for_a_fix_says_fixed() -> None:
    step = bisection.step(Question(0.3, 0.95), "first good", steps=3)
    valid = [bisection.Counted(rate=rates.Rate(0, step.runs))]
    assert ": fixed: " in bisection.sentence(step, valid, 0)
    assert ": not fixed: " in bisection.sentence(step, valid, 10)
    assert bisection.sentence(step, valid, 0).startswith("a step of at most 3: ")


def test_a_search_without_any_failure_says_so_at_its_last_step() -> None:
    def said(**more: int) -> bool:
        step = Step(rate=0.3, confidence=0.95, steps=4, start="x", about=4, **more)
        return "no run of the search was INVALID" in bisection.sentence(step, [], 0)

    assert said(number=4)
    assert not said(number=3)
    assert not said(number=4, invalid=1)


def test_a_search_that_would_need_too_many_runs_is_refused() -> None:
    with pytest.raises(errors.UsageError, match=r"^expected .*, got a rate of 0\.001 .*: raise"):
        bisection.require(bisection.step(Question(0.001, 0.95), "first bad"), 1000)
    bisection.require(bisection.step(Question(0.3, 0.95), "first bad"), 1000)
