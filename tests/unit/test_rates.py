"""The exact interval against scipy, and against its definition."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import rates


def test_the_interval_is_that_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is a library of the tests")
    for runs in (1, 2, 3, 5, 10, 20, 47, 100, 400, 1000):
        for failed in {0, 1, runs // 3, runs // 2, runs - 1, runs}:
            expected = stats.binomtest(failed, runs).proportion_ci(rates.CONFIDENCE, "exact")
            low, high = rates.Rate(failed, runs).interval
            assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_without_runs_nothing_is_known() -> None:
    assert rates.Rate(0, 0).interval == (0.0, 1.0)
    assert rates.Rate(0, 0).share == 0.0


@given(st.floats(-1e4, 1e4), st.floats(-1e4, 1e4))
def test_printed_ends_are_rounded_outwards(low: float, high: float) -> None:
    for value, printed in ((low, rates.lower(low)), (high, rates.upper(high))):
        assert float(printed) == pytest.approx(value, rel=0.1, abs=1e-5)
    assert float(rates.lower(low)) <= low + 1e-6
    assert float(rates.upper(high)) >= high - 1e-6


@pytest.mark.parametrize(
    ("runs", "under"),
    [(1, "95"), (24, "12"), (71, "4.2"), (120, "2.5"), (200, "1.5"), (1000, "0.3")],
)
def test_no_bound_is_printed_below_itself(runs: int, under: str) -> None:
    """71 runs without any failure bound the rate by 4.13 %, not by 4 %."""
    assert rates.upper(rates.Rate(0, runs).most * 100) == under


@pytest.mark.parametrize(
    ("share", "ends"), [(0, ("0", "0")), (0.99963, ("99.9", "100")), (1, ("100", "100"))]
)
def test_the_ends_of_all_shares_stay_ends(share: float, ends: tuple[str, str]) -> None:
    assert rates.span(share, share, "|").split("|") == list(ends)
