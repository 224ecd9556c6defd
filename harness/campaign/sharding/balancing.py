"""Divides runs among shards so that these take the same time, as far as that is known."""

import heapq
import statistics
from collections.abc import Sequence

_UNKNOWN_S = 1.0
"""Weight of every run if no duration is known: each shard then gets as many runs."""


def assign(expected: Sequence[float | None], shards: int) -> list[int]:
    """Return the number of the shard of each run, from 1.

    `expected` are the seconds of each run; None: not known, which counts as the median of the
    known ones. The longest runs go first, each to the shard with the least work so far; of equal
    ones the first, so that runs of equal weight are dealt in turn.
    """
    known = [seconds for seconds in expected if seconds is not None]
    unknown = statistics.median(known) if known else _UNKNOWN_S
    weights = [unknown if seconds is None else seconds for seconds in expected]
    work = [(0.0, shard) for shard in range(1, shards + 1)]
    numbers = [0] * len(weights)
    for index in sorted(range(len(weights)), key=lambda index: (-weights[index], index)):
        spent, shard = work[0]
        numbers[index] = shard
        heapq.heapreplace(work, (spent + weights[index], shard))
    return numbers
