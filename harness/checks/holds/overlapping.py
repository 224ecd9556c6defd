"""Finds all pairs of overlapping intervals with numpy: one sort, then binary search."""

import dataclasses
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Integers: TypeAlias = npt.NDArray[np.int64]
PAIRS_MAX = 1_000_000
"""Pairs listed by default; all pairs are counted."""


@dataclasses.dataclass(frozen=True, slots=True)
class Overlaps:
    """Overlapping pairs as row numbers of the input."""

    count: int
    """Number of pairs; exact even if not all are listed."""
    first: Integers
    """Row of the interval that begins earlier; one element for each listed pair."""
    second: Integers
    """Row of the other interval; same length."""


def overlaps(
    key: Integers, start: Integers, end: Integers, *, pairs_max: int = PAIRS_MAX
) -> Overlaps:
    """Return all pairs of half-open intervals [start, end) with equal keys that overlap.

    All three arrays have the same length n; `key` holds small non-negative integers, one for each
    device. Empty intervals overlap nothing. At most `pairs_max` pairs are listed, the first ones
    by key and start. Takes O(n log n + pairs). Raises ValueError if keys and span exceed 63 bits.
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
    """Shift the intervals of each key to a range of their own, so that keys cannot overlap."""
    origin = start.min()
    span = int(end.max() - origin) + 1
    if span * (int(key.max()) + 1) >= 2**63:
        raise ValueError(f"expected keys and span within 63 bits, got {int(key.max())} and {span}")
    offset = key.astype(np.int64) * span
    return offset + (start - origin), offset + (end - origin)


def _enumerate(positions: Integers, counts: Integers, pairs_max: int) -> tuple[Integers, Integers]:
    """Pair each position with the `counts` positions that follow it."""
    before = np.cumsum(counts) - counts
    counts = np.clip(pairs_max - before, 0, counts)
    first = np.repeat(positions, counts)
    within = np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)
    return first, first + within + 1
