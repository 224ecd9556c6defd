"""Tests and intervals for figures of two groups of runs, such as their throughputs.

The runs are the independent units, not the pods within one. No distribution is assumed.
"""

import dataclasses
import functools
import itertools
import math
import statistics
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

DEALS_MAX = 20_000
"""Most ways of dealing out the runs that are all looked at; beyond, random ones are drawn."""
DRAWN = 9_999
"""Random deals of `p_value`."""
RESAMPLED = 2_000
"""Resamples of each group of `difference`."""
_AT_ONCE = 2_000_000
"""Numbers that are drawn at once; more would only take more memory."""
RUNS_MIN = 5
"""Fewest runs of a side for an interval: resamples of fewer say too little."""
_TIE = 1e-9
_Array = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True, slots=True)
class Interval:
    """An interval of a difference."""

    low: float
    high: float


def p_value(first: Sequence[float], second: Sequence[float], *, seed: int) -> float:
    """Return the two-sided p-value of the rank sum test (Mann and Whitney) for equal groups.

    All ways of dealing out the ranks are counted, or a random part of them, with which the
    p-value is slightly too large rather than too small. 1 if a group is empty.
    """
    if not (first and second):
        return 1.0
    ranks = _ranks(np.array([*first, *second], dtype=float))
    expected = len(first) * ranks.mean()
    observed = abs(ranks[: len(first)].sum() - expected)
    if math.comb(len(ranks), len(first)) <= DEALS_MAX:
        sums = _all_sums(ranks, len(first))
        return float((np.abs(sums - expected) >= observed - _TIE).mean())
    sums = _drawn_sums(ranks, len(first), seed)
    as_far = int((np.abs(sums - expected) >= observed - _TIE).sum())
    return (as_far + 1) / (DRAWN + 1)


def least_p_value(first: int, second: int) -> float:
    """Return the smallest p-value that groups of these sizes can have; 1 if one is empty."""
    if not (first and second):
        return 1.0
    deals = math.comb(first + second, first)
    return 2 / deals if deals <= DEALS_MAX else 1 / (DRAWN + 1)


def difference(
    first: Sequence[float], second: Sequence[float], *, confidence: float, seed: int
) -> Interval | None:
    """Return the bootstrap interval of how much the second group's median is larger.

    None with fewer than RUNS_MIN runs in a group.
    """
    if min(len(first), len(second)) < RUNS_MIN:
        return None
    random = np.random.default_rng(seed)
    medians = [_medians(np.array(group, dtype=float), random) for group in (first, second)]
    tail = (1 - confidence) / 2
    low, high = np.quantile(medians[1] - medians[0], (tail, 1 - tail))
    return Interval(float(low), float(high))


def _ranks(values: _Array) -> _Array:
    """Return the ranks of the values; equal ones share the mean of theirs."""
    ordered = np.sort(values)
    below = np.searchsorted(ordered, values, side="left")
    upto = np.searchsorted(ordered, values, side="right")
    ranks: _Array = (below + upto + 1) / 2
    return ranks


def _all_sums(ranks: _Array, count: int) -> _Array:
    chosen = np.array(list(itertools.combinations(range(len(ranks)), count)), dtype=int)
    sums: _Array = ranks[chosen].sum(axis=1)
    return sums


def _drawn_sums(ranks: _Array, count: int, seed: int) -> _Array:
    random = np.random.default_rng(seed)
    return np.concatenate(
        [
            random.permuted(np.tile(ranks, (rows, 1)), axis=1)[:, :count].sum(axis=1)
            for rows in _parts(DRAWN, len(ranks))
        ]
    )


def _medians(group: _Array, random: np.random.Generator) -> _Array:
    """Return the medians of resamples of a group."""
    return np.concatenate(
        [
            np.median(random.choice(group, (rows, len(group))), axis=1)
            for rows in _parts(RESAMPLED, len(group))
        ]
    )


def _parts(rows: int, length: int) -> Iterator[int]:
    """Yield how many of the rows of this length are drawn at once; they add up to `rows`."""
    most = max(_AT_ONCE // length, 1)
    while rows > 0:
        yield min(rows, most)
        rows -= most


BEFORE_MIN = 7
"""Fewest values before the new one."""


def p_value_alone(
    before: Sequence[float], value: float, *, least_variance: float, ratio: float = 1.0
) -> float:
    """Return the two-sided p-value for a value like those before it (the prediction interval).

    The values before are independent and spread normally. Their standard deviation is estimated, so
    that the distance of the new one follows Student's distribution. That of BEFORE_MIN values is
    used also for more of them: its longer tails make up for values that are spread more widely than
    normal ones.

    `least_variance`: the variance is not taken to be smaller. `ratio`: how much larger that of the
    new value may be by its nature. Raises ValueError for too few values.
    """
    if len(before) < BEFORE_MIN:
        raise ValueError(f"expected at least {BEFORE_MIN} values, got {len(before)}")
    variance = max(statistics.variance(before), least_variance)
    distance = abs(value - statistics.fmean(before))
    return _student(distance / math.sqrt(variance * (ratio + 1 / len(before))))


def _student(distance: float) -> float:
    """Return the two-sided tail of Student's distribution with 6 degrees of freedom.

    The finite sum for an even number (Abramowitz and Stegun, 26.7.4).
    """
    angle = math.atan(distance / math.sqrt(BEFORE_MIN - 1))
    square = math.cos(angle) ** 2
    return max(1 - math.sin(angle) * (1 + square / 2 + 3 * square**2 / 8), 0.0)


PAIRS_MAX = 100_000
"""Most pairs of values for the exact distribution. Beyond them it is taken as normal, whose tails
are heavier."""
_LOG_DEALS_MAX = 700.0
"""Logarithm of the largest number of deals that a float can hold."""


def exact_p_value(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the two-sided p-value of the rank sum test for equal groups; 1 if one is empty.

    It counts how many deals of the ranks have each sum (Mann and Whitney, "On a Test of Whether one
    of Two Random Variables is Stochastically Larger than the Other", 1947), for groups of any size:
    many tests at once need very small p-values. Equal values count against a difference, so that
    ties make it larger, never smaller.
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
def least_exact_p_value(first: int, second: int) -> float:
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
