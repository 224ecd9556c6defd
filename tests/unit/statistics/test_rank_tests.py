"""The rank sum test against tables, its level under no difference, and the bootstrap interval."""

import random

import pytest

from harness.statistics import exact_tests, rank_tests


def test_small_groups_are_counted_exactly() -> None:
    assert rank_tests.p_value([1, 2, 3], [4, 5, 6], seed=1) == pytest.approx(2 / 20)
    assert rank_tests.p_value([1, 2, 3, 4], [5, 6, 7, 8], seed=1) == pytest.approx(2 / 70)
    assert rank_tests.p_value([1, 1, 1], [1, 1, 1], seed=1) == 1.0
    assert rank_tests.p_value([], [1, 2], seed=1) == 1.0


def test_drawn_deals_agree_with_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = [1.0, 2, 5, 6, 3, 9], [4.0, 8, 9, 11, 12, 10, 7]
    exact = rank_tests.p_value(first, second, seed=1)
    monkeypatch.setattr(rank_tests, "DEALS_MAX", 0)
    drawn = rank_tests.p_value(first, second, seed=1)
    assert drawn == pytest.approx(exact, abs=0.01)
    assert drawn == rank_tests.p_value(first, second, seed=1)
    assert drawn != rank_tests.p_value(first, second, seed=2)


def test_drawing_in_parts_is_the_same_test(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = list(range(0, 60, 2)), list(range(11, 71, 2))
    whole = rank_tests.p_value(first, second, seed=1)
    interval = rank_tests.difference(first, second, confidence=0.95, seed=1)
    monkeypatch.setattr(rank_tests, "_AT_ONCE", 1_000)
    assert rank_tests.p_value(first, second, seed=1) == pytest.approx(whole, abs=0.02)
    parts = rank_tests.difference(first, second, confidence=0.95, seed=1)
    assert interval is not None
    assert parts is not None
    assert (parts.low, parts.high) == pytest.approx((interval.low, interval.high), abs=2)


def test_equal_groups_are_seldom_told_apart() -> None:
    drawn = random.Random(3)
    found = [
        rank_tests.p_value(*([drawn.gauss(5, 1) for _ in range(7)] for _ in range(2)), seed=number)
        for number in range(400)
    ]
    assert sum(value <= 0.05 for value in found) <= 400 * 0.05 + 3 * (400 * 0.05 * 0.95) ** 0.5


@pytest.mark.parametrize(("first", "second"), [(1, 1), (3, 3), (2, 5), (60, 60)])
def test_no_p_value_is_below_the_least_one(first: int, second: int) -> None:
    apart = rank_tests.p_value(range(first), range(100, 100 + second), seed=1)
    assert apart == pytest.approx(rank_tests.least_p_value(first, second))


def test_the_interval_of_the_difference_contains_it() -> None:
    drawn = random.Random(4)
    first = [drawn.gauss(100, 5) for _ in range(40)]
    interval = rank_tests.difference(
        first, [value + 20 for value in first], confidence=0.95, seed=1
    )
    assert interval is not None
    assert 10 < interval.low < 20 < interval.high < 30
    assert rank_tests.difference(first[:4], first, confidence=0.95, seed=1) is None


def test_holms_correction() -> None:
    assert exact_tests.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert exact_tests.holm([0.9, 0.8]) == [1.0, 1.0]
    assert exact_tests.holm([]) == []
