"""Tests and intervals for figures of two groups of runs, such as their throughputs.

The runs are the independent units, not the pods within one. No distribution is assumed.
"""

import dataclasses
import itertools
import math
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
