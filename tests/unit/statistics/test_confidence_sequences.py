"""Sequential decisions: their evidence by integration, their errors exactly and by simulation."""

import math
import random

import numpy as np
import pytest

from harness.statistics import confidence_sequences, power
from harness.statistics.confidence_sequences import Answer, Question
from harness.statistics.rates import Rate

QUESTION = Question(0.01, 0.95)
RUNS = 1_000
MIDDLES = (np.arange(100_000) + 0.5) / 100_000


def ratios(limit: float, values: np.ndarray, rate: Rate) -> np.ndarray:
    """Likelihoods under each rate, divided by that at the limit."""
    passed = rate.runs - rate.failed
    return (values / limit) ** rate.failed * ((1 - values) / (1 - limit)) ** passed


@pytest.mark.parametrize("rate", [Rate(0, 70), Rate(1, 1), Rate(2, 90), Rate(40, 60)], ids=str)
@pytest.mark.parametrize("limit", [0.01, 0.2, 0.7])
def test_the_evidence_is_that_of_its_mixture(limit: float, rate: Rate) -> None:
    values = limit * MIDDLES
    never = float(ratios(limit, np.array([0.0]), rate)[0])
    expected = 0.8 * never + 0.2 * ratios(limit, values, rate).mean()
    found = confidence_sequences.log_evidence_below(limit, rate)
    assert math.exp(found) == pytest.approx(expected, rel=1e-3)
    values = limit + (1 - limit) * MIDDLES
    weights = (1 - values) ** (max(round(1 / (4 * limit)), 1) - 1)
    expected = (weights * ratios(limit, values, rate)).sum() / weights.sum()
    found = confidence_sequences.log_evidence_at_least(limit, rate)
    assert math.exp(found) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("question", [QUESTION, Question(0.3, 0.8)], ids=str)
def test_the_error_is_at_most_the_stated_one_at_every_rate(question: Question) -> None:
    error = 1 - question.confidence
    worst = 0.0
    for share in (0.3, 0.9, 0.9999, 1.0, 1.0001, 1.1, 3.0):
        found = power.course(question, share * question.limit, RUNS)
        wrong = found.at_least if share < 1 else found.below
        worst = max(worst, wrong)
    assert worst <= error
    assert worst > error / 4, "a test that is never wrong would need too many runs"


def test_coins_are_decided_as_often_as_computed() -> None:
    drawn = random.Random(7)
    for rate in (0.0, 0.05):
        found = [
            confidence_sequences.decide(QUESTION, (drawn.random() < rate for _ in range(400)))
            for _ in range(300)
        ]
        expected = power.course(QUESTION, rate, 400)
        for answer, chance in (
            (Answer.BELOW, expected.below),
            (Answer.AT_LEAST, expected.at_least),
        ):
            count = sum(item.answer is answer for item in found)
            assert abs(count - 300 * chance) <= 4 * math.sqrt(300 * chance * (1 - chance)) + 1e-9
        mean = sum(item.rate.runs for item in found) / len(found)
        assert mean == pytest.approx(expected.mean_runs, rel=0.15)


def test_a_decision_stands_at_the_run_that_reached_it() -> None:
    outcomes = [True] * 3 + [False] * 10_000
    found = confidence_sequences.decide(QUESTION, outcomes)
    assert (found.answer, found.rate) == (Answer.AT_LEAST, Rate(2, 2))
    found = confidence_sequences.decide(QUESTION, [False] * 312)
    assert (found.answer, found.rate) == (Answer.UNDECIDED, Rate(0, 312))
    assert confidence_sequences.decide(QUESTION, [False] * 313).answer is Answer.BELOW
    assert power.clean_runs(QUESTION) == 313
    assert confidence_sequences.decide(QUESTION, []).answer is Answer.UNDECIDED


def test_the_interval_contains_the_rate_after_every_run_at_once() -> None:
    drawn, missed = random.Random(11), 0
    for _ in range(60):
        failed = 0
        for runs in range(1, 61):
            failed += drawn.random() < 0.2
            low, high = confidence_sequences.interval(Rate(failed, runs), 0.8)
            if not low <= 0.2 <= high:
                missed += 1
                break
    assert missed <= 12
    assert confidence_sequences.interval(Rate(0, 0), 0.95) == (0.0, 1.0)
    low, high = confidence_sequences.interval(Rate(14, 20), 0.95)
    assert low < Rate(14, 20).interval[0] < Rate(14, 20).interval[1] < high
