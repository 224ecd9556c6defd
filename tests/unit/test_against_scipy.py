"""Our statistics and scipy's, wherever scipy has the same answer."""

import pytest

from harness import rates

TOLERANCE = 1e-9


@pytest.mark.parametrize("runs", [1, 2, 3, 5, 10, 20, 47, 100, 400, 1000])
def test_intervals_of_rates(runs: int) -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is a library of the tests")
    for failed in {0, 1, runs // 3, runs // 2, runs - 1, runs}:
        expected = stats.binomtest(failed, runs).proportion_ci(rates.CONFIDENCE, "exact")
        low, high = rates.Rate(failed, runs).interval
        assert (low, high) == pytest.approx((expected.low, expected.high), abs=TOLERANCE)
