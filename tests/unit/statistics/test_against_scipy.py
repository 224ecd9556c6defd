"""Our statistics and scipy's, wherever scipy has the same answer."""

import itertools
import random

import pytest

from harness.statistics import rank_tests, rates

stats = pytest.importorskip("scipy.stats", reason="scipy is a library of the tests")
TOLERANCE = 1e-9


@pytest.mark.parametrize("runs", [1, 2, 3, 5, 10, 20, 47, 100, 400, 1000])
def test_intervals_of_rates(runs: int) -> None:
    for failed in {0, 1, runs // 3, runs // 2, runs - 1, runs}:
        expected = stats.binomtest(failed, runs).proportion_ci(rates.CONFIDENCE, "exact")
        low, high = rates.Rate(failed, runs).interval
        assert (low, high) == pytest.approx((expected.low, expected.high), abs=TOLERANCE)


@pytest.mark.parametrize(("first", "second"), [(3, 3), (5, 8), (10, 10), (20, 15), (47, 30)])
def test_rank_sums_without_ties(first: int, second: int) -> None:
    for shift in (0, first // 2, first):
        ranks = list(range(first + second))
        random.Random(shift).shuffle(ranks)
        one, other = ranks[:first], [rank + shift for rank in ranks[first:]]
        if len({*one, *other}) < first + second:
            other = [rank + 0.5 for rank in other]
        expected = stats.mannwhitneyu(one, other, method="exact").pvalue
        assert rank_tests.exact_p_value(one, other) == pytest.approx(expected, abs=TOLERANCE)


@pytest.mark.parametrize("distance", [0, 0.1, 1, 2, 5, 40])
def test_values_that_stand_alone(distance: float) -> None:
    before = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    spread = (28 / 6 * (1 + 1 / len(before))) ** 0.5
    found = rank_tests.p_value_alone(before, 3 + distance * spread, least_variance=0.0)
    assert found == pytest.approx(2 * stats.t(len(before) - 1).sf(distance), abs=TOLERANCE)


def test_ties_make_a_rank_sum_larger_never_smaller() -> None:
    for one, other in itertools.product([(1, 2, 2), (1, 1, 3)], [(2, 3, 4), (5, 5, 2)]):
        exact = stats.permutation_test(
            (one, other), lambda first, _: stats.rankdata((*first, *_))[:3].sum(), n_resamples=1e4
        ).pvalue
        assert rank_tests.exact_p_value(one, other) >= exact - TOLERANCE
