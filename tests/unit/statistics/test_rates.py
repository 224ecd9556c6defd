"""The exact interval against published values, and against its definition."""

import math

import pytest

from harness.statistics import rates


@pytest.mark.parametrize(
    ("failed", "runs", "low", "high"),
    [
        (0, 20, 0.0, 0.16843),
        (20, 20, 0.83157, 1.0),
        (14, 20, 0.45721, 0.88107),
        (5, 10, 0.18709, 0.81291),
        (1, 1, 0.025, 1.0),
    ],
)
def test_the_interval_is_clopper_and_pearsons(
    failed: int, runs: int, low: float, high: float
) -> None:
    assert rates.Rate(failed, runs).interval == pytest.approx((low, high), abs=1e-4)


def test_at_the_ends_as_many_failures_have_the_remaining_probability() -> None:
    low, high = rates.Rate(3, 12).interval

    def tail(rate: float, counts: range) -> float:
        return sum(math.comb(12, k) * rate**k * (1 - rate) ** (12 - k) for k in counts)

    assert tail(low, range(3, 13)) == pytest.approx(0.025)
    assert tail(high, range(4)) == pytest.approx(0.025)


def test_without_runs_nothing_is_known() -> None:
    assert rates.Rate(0, 0).interval == (0.0, 1.0)
    assert rates.Rate(0, 0).share == 0.0


def test_in_words() -> None:
    assert str(rates.Rate(14, 20)) == "failed in 14 of 20 runs (95 % confidence: 46 % to 88 %)"
    assert str(rates.Rate(1, 1)).startswith("failed in 1 of 1 run (")
