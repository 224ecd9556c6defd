"""All pairs of overlapping intervals, by numpy: sort once, then count and enumerate by binary search."""

import dataclasses
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Integers: TypeAlias = npt.NDArray[np.int64]
PAIRS_MAX = 1_000_000


@dataclasses.dataclass(frozen=True, slots=True)
class Overlaps:
    """Overlapping pairs as row numbers."""

    count: int
    """Exact, also when not all pairs are listed."""
    first: Integers
    """Row of the interval that begins earlier."""
    second: Integers
    """Row of the other one, same length."""


def overlaps(
    key: Integers, start: Integers, end: Integers, *, pairs_max: int = PAIRS_MAX
) -> Overlaps:
    """Every pair of half-open intervals [start, end) of one key that overlap; O(n log n + pairs).

    `key`: small non-negative integers, one for each device. Empty intervals overlap nothing. When there are more than
    `pairs_max` pairs, the first ones by key and start are listed. ValueError when keys and span do not fit 63 bits.
    """
    rows = np.flatnonzero(end > start)
    if not len(rows):
        return Overlaps(0, rows, rows)
    shifted_start, shifted_end = _shift(key[rows], start[rows], end[rows])
    order = np.argsort(shifted_start, kind="stable")
    shifted_start, shifted_end, rows = shifted_start[order], shifted_end[order], rows[order]
    positions = np.arange(len(rows))
    counts = np.searchsorted(shifted_start, shifted_end, "left") - positions - 1
    first, second = _enumerate(positions, counts, pairs_max)
    return Overlaps(int(counts.sum()), rows[first], rows[second])


def _shift(key: Integers, start: Integers, end: Integers) -> tuple[Integers, Integers]:
    """Intervals on one line, a stretch of it for each key, so that those of different keys cannot meet."""
    origin = start.min()
    span = int(end.max() - origin) + 1
    if span * (int(key.max()) + 1) >= 2**63:
        raise ValueError(f"expected keys and span within 63 bits, got {int(key.max())} and {span}")
    offset = key.astype(np.int64) * span
    return offset + (start - origin), offset + (end - origin)


def _enumerate(positions: Integers, counts: Integers, pairs_max: int) -> tuple[Integers, Integers]:
    """Each position with the `counts` positions that follow it."""
    before = np.cumsum(counts) - counts
    counts = np.clip(pairs_max - before, 0, counts)
    first = np.repeat(positions, counts)
    within = np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)
    return first, first + within + 1
