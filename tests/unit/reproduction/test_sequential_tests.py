"""The number of runs that a decision takes, and how often it is right."""

import random

import pytest

from harness.reproduction.search import sequential_tests


@pytest.mark.parametrize(
    ("failed", "runs", "decision"),
    [
        (0, 0, None),
        (3, 3, True),
        (2, 2, None),
        (0, 1, None),
        (0, 2, False),
        (2, 3, None),
        (5, 9, True),
        (4, 9, False),
    ],
)
def test_clear_cases_take_few_runs_and_others_end_by_majority(
    failed: int, runs: int, decision: bool | None
) -> None:
    assert sequential_tests.decide(failed, runs) is decision


def decided(rate: float, dice: random.Random) -> tuple[bool, int]:
    failed = runs = 0
    while (decision := sequential_tests.decide(failed, runs)) is None:
        runs += 1
        failed += dice.random() < rate
    return decision, runs


@pytest.mark.parametrize(("rate", "is_kept"), [(0.95, True), (0.05, False)])
def test_it_decides_rightly_about_clear_cases(rate: float, is_kept: bool) -> None:
    dice = random.Random(7)
    decisions = [decided(rate, dice) for _ in range(300)]
    assert sum(decision is is_kept for decision, _ in decisions) > 280
    assert sum(runs for _, runs in decisions) / len(decisions) < 4


def test_the_limit_of_runs_is_kept() -> None:
    dice = random.Random(7)
    assert max(decided(0.55, dice)[1] for _ in range(300)) == sequential_tests.RUNS_MAX


def test_half() -> None:
    assert sequential_tests.is_half(10, 20)
    assert not sequential_tests.is_half(9, 20)
    assert not sequential_tests.is_half(0, 0)
