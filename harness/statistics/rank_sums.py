"""The exact rank sum test for groups of any size, by its distribution.

`rank_tests` deals the ranks out one by one, or draws some deals. This counts how many deals have
each sum (Mann and Whitney, "On a Test of Whether one of Two Random Variables is Stochastically
Larger than the Other", 1947), which many tests at once need: their p-values must get very small.
"""

import functools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

PAIRS_MAX = 100_000
"""Most pairs of values for the exact distribution. Beyond them it is taken as normal, whose tails
are heavier."""
_LOG_DEALS_MAX = 700.0
"""Logarithm of the largest number of deals that a float can hold."""
_Array = npt.NDArray[np.float64]


def p_value(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the two-sided p-value for equal groups; 1 if one is empty.

    Equal values count against a difference, so that ties make it larger, never smaller.
    """
    if not (first and second):
        return 1.0
    ordered = np.sort(np.asarray(second, dtype=np.float64))
    values = np.asarray(first, dtype=np.float64)
    below = int(np.searchsorted(ordered, values, side="left").sum())
    upto = int(np.searchsorted(ordered, values, side="right").sum())
    fewest = min(upto, len(first) * len(second) - below)
    return min(2 * _tail(len(first), len(second), fewest), 1.0)


@functools.lru_cache(maxsize=4096)
def least_p_value(first: int, second: int) -> float:
    """Return the smallest p-value that groups of these sizes can have; 1 if one is empty."""
    return min(2 / math.comb(first + second, first), 1.0) if first and second else 1.0


def _tail(first: int, second: int, count: int) -> float:
    """Return the probability of at most `count` pairs in which the first value is larger."""
    few, many = sorted((first, second))
    if 2 * count >= few * many:
        return 1.0
    log_deals = math.lgamma(few + many + 1) - math.lgamma(few + 1) - math.lgamma(many + 1)
    if few * many > PAIRS_MAX or log_deals > _LOG_DEALS_MAX:
        spread = math.sqrt(few * many * (few + many + 1) / 12)
        return math.erfc((few * many / 2 - count - 0.5) / spread / math.sqrt(2)) / 2
    return float(_cumulative(few, many)[count])


@functools.lru_cache(maxsize=512)
def _cumulative(few: int, many: int) -> _Array:
    """Return the probabilities of at most 0, 1, … such pairs, up to half of all pairs.

    The numbers of deals are the coefficients of a Gaussian binomial coefficient.
    """
    half = few * many // 2 + 1
    deals = np.zeros(half)
    deals[0] = 1.0
    for number in range(1, few + 1):
        whole = many + number
        if whole < half:
            deals[whole:] -= deals[:-whole].copy()
        for start in range(min(number, half)):
            deals[start::number] = np.cumsum(deals[start::number])
    probabilities: _Array = np.cumsum(deals) / float(math.comb(few + many, few))
    return probabilities
