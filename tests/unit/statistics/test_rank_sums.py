"""The exact rank sum test, against dealing out the ranks one by one."""

import math
import random

import pytest

from harness.statistics import rank_tests


def test_it_is_the_test_that_deals_out_all_ranks() -> None:
    drawn = random.Random(1)
    for _ in range(60):
        first = [drawn.random() for _ in range(drawn.randint(1, 6))]
        second = [drawn.random() + 0.3 for _ in range(drawn.randint(1, 8))]
        expected = rank_tests.p_value(first, second, seed=1)
        assert rank_tests.exact_p_value(first, second) == pytest.approx(expected)


def test_ties_and_empty_groups_show_nothing() -> None:
    assert rank_tests.exact_p_value([1, 1, 1], [1, 1, 1]) == 1.0
    assert rank_tests.exact_p_value([], [1]) == 1.0
    apart = rank_tests.exact_p_value([1, 2, 3], [4, 5, 6])
    assert rank_tests.exact_p_value([1, 2, 4], [4, 5, 6]) > apart == pytest.approx(2 / 20)
    assert rank_tests.least_exact_p_value(0, 5) == 1.0


@pytest.mark.parametrize(("first", "second"), [(1, 1), (3, 300), (40, 60)])
def test_no_p_value_is_below_the_least_one(first: int, second: int) -> None:
    apart = rank_tests.exact_p_value(range(first), range(1000, 1000 + second))
    assert apart == pytest.approx(rank_tests.least_exact_p_value(first, second), rel=1e-6)


def test_many_values_are_taken_as_normal(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = [*range(0, 60, 2), 100], list(range(11, 71))
    exact = rank_tests.exact_p_value(first, second)
    monkeypatch.setattr(rank_tests, "PAIRS_MAX", 0)
    assert rank_tests.exact_p_value(first, second) == pytest.approx(exact, rel=0.1)
    whole = list(range(5_000))
    assert math.isfinite(rank_tests.exact_p_value(whole, whole))
