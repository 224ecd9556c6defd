"""One value against those before it: the tail of Student's distribution, and how often it errs."""

import math

import numpy as np
import pytest

from harness.statistics import rank_tests


@pytest.mark.parametrize(
    ("quantile", "tail"),
    [(0.7176, 0.5), (1.9432, 0.1), (2.4469, 0.05), (3.7074, 0.01), (5.9588, 0.001)],
)
def test_the_tail_is_that_of_published_tables(quantile: float, tail: float) -> None:
    """Seven values with the mean 0 and the variance 1."""
    before = [-1.0, -1.0, -1.0, 0.0, 1.0, 1.0, 1.0]
    value = quantile * math.sqrt(1 + 1 / 7)
    found = rank_tests.p_value_alone(before, value, least_variance=0.0)
    assert found == pytest.approx(tail, rel=1e-3)
    assert rank_tests.p_value_alone(before, -value, least_variance=0.0) == pytest.approx(found)


@pytest.mark.parametrize("count", [7, 20])
def test_a_value_like_the_others_is_rarely_far_from_them(count: int) -> None:
    """At most as often as the level, and with more values before it less often."""
    random = np.random.default_rng(3)
    found = [
        rank_tests.p_value_alone(list(values[1:]), values[0], least_variance=0.0)
        for values in random.normal(size=(3_000, count + 1)).tolist()
    ]
    for level in (0.05, 0.01):
        share = sum(p_value <= level for p_value in found) / len(found)
        assert share <= level + 3 * math.sqrt(level / len(found))


def test_equal_values_are_not_taken_to_be_exact() -> None:
    before = [4.0] * 7
    assert rank_tests.p_value_alone(before, 4.1, least_variance=0.02**2) > 0.001
    assert rank_tests.p_value_alone(before, 5.0, least_variance=0.02**2) < 1e-6
    ratio = rank_tests.p_value_alone(before, 4.1, least_variance=0.02**2, ratio=9.0)
    assert ratio > rank_tests.p_value_alone(before, 4.1, least_variance=0.02**2)


def test_too_few_values_are_refused() -> None:
    with pytest.raises(ValueError, match="expected at least 7 values, got 6"):
        rank_tests.p_value_alone([1.0] * 6, 2.0, least_variance=1.0)
