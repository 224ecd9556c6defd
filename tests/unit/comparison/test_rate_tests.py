"""Exact tests against their definitions, computed one table at a time."""

import math
import random

import pytest

from harness import rates
from harness.comparison import rate_tests

ROUNDING = 1e-9


def hypergeometric(first: int, second: int, failed: int) -> dict[int, float]:
    whole = math.comb(first + second, failed)
    counts = range(max(0, failed - second), min(first, failed) + 1)
    return {a: math.comb(first, a) * math.comb(second, failed - a) / whole for a in counts}


def fisher(a: int, first: int, b: int, second: int) -> float:
    chances = hypergeometric(first, second, a + b)
    return sum(value for value in chances.values() if value <= chances[a] * (1 + 1e-7))


def level(p_value: float, first: int, second: int, rate: float) -> float:
    """Return how often Fisher's p-value is at most this one when both sides have this rate."""

    def chance(count: int, runs: int) -> float:
        return math.comb(runs, count) * rate**count * (1 - rate) ** (runs - count)

    return sum(
        chance(a, first) * chance(b, second)
        for a in range(first + 1)
        for b in range(second + 1)
        if fisher(a, first, b, second) <= p_value * (1 + 1e-7)
    )


TABLES = [(0, 3, 3, 3), (1, 4, 5, 6), (2, 10, 9, 11), (0, 8, 3, 8), (5, 5, 0, 2), (3, 9, 3, 9)]


@pytest.mark.parametrize(("a", "first", "b", "second"), TABLES)
def test_boschloo_is_the_largest_level_of_fishers_p_value(
    a: int, first: int, b: int, second: int
) -> None:
    found = rate_tests.boschloo(rates.Rate(a, first), rates.Rate(b, second))
    observed = fisher(a, first, b, second)
    levels = [level(observed, first, second, number / 400) for number in range(401)]
    assert found == pytest.approx(min(max(levels), observed), rel=1e-3)
    assert found >= min(max(levels), observed) - ROUNDING


def test_published_and_simple_values() -> None:
    assert rate_tests.boschloo(rates.Rate(0, 3), rates.Rate(3, 3)) == pytest.approx(2 / 2**6)
    assert rate_tests.boschloo(rates.Rate(4, 9), rates.Rate(4, 9)) == pytest.approx(1.0)
    assert rate_tests.boschloo(rates.Rate(0, 0), rates.Rate(4, 9)) == 1.0


def test_boschloo_is_symmetric_and_never_above_fishers() -> None:
    drawn = random.Random(5)
    for _ in range(50):
        first, second = drawn.randint(1, 30), drawn.randint(1, 30)
        a, b = drawn.randint(0, first), drawn.randint(0, second)
        one, other = rates.Rate(a, first), rates.Rate(b, second)
        found = rate_tests.boschloo(one, other)
        assert found == pytest.approx(rate_tests.boschloo(other, one))
        assert found <= fisher(a, first, b, second) + ROUNDING


def test_many_runs_are_answered_as_by_fishers_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_tests, "CELLS_MAX", 0)
    found = rate_tests.boschloo(rates.Rate(2, 10), rates.Rate(9, 11))
    assert found == pytest.approx(fisher(2, 10, 9, 11))


def test_one_stratum_is_fishers_test() -> None:
    for a, first, b, second in TABLES:
        found = rate_tests.stratified([(rates.Rate(a, first), rates.Rate(b, second))])
        assert found == pytest.approx(fisher(a, first, b, second))


def test_strata_add_up_and_are_not_averaged() -> None:
    one = (rates.Rate(0, 3), rates.Rate(3, 3))
    assert rate_tests.stratified([one, one]) == pytest.approx(2 / math.comb(6, 3) ** 2)
    # Each scenario has equal rates on both sides; pooled, they would look different.
    often, rarely = (
        (rates.Rate(18, 20), rates.Rate(90, 100)),
        (rates.Rate(5, 50), rates.Rate(1, 10)),
    )
    assert rate_tests.stratified([often, rarely]) == pytest.approx(1.0)
    pooled = rates.Rate(23, 70), rates.Rate(91, 110)
    assert rate_tests.boschloo(*pooled) < 1e-6
    assert rate_tests.stratified([]) == 1.0
