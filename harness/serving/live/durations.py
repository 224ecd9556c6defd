"""Durations by size, in memory that does not grow with their number."""

import collections
import math

GROWTH = 1.05
"""Ratio of one bucket's limits: a quantile is at most 2.5 % beside the exact one."""
_LOG = math.log(GROWTH)


class Durations:
    """How many durations had which size."""

    def __init__(self) -> None:
        self.buckets: collections.Counter[int] = collections.Counter()
        """Counts by the logarithm of the nanoseconds to the base GROWTH, rounded down."""
        self.count = 0

    def add(self, nanoseconds: int) -> None:
        """Count a duration; one below a nanosecond counts as that."""
        self.buckets[math.floor(math.log(max(nanoseconds, 1)) / _LOG)] += 1
        self.count += 1

    def merge(self, other: "Durations") -> None:
        """Count the durations of another one, too."""
        self.buckets.update(other.buckets)
        self.count += other.count

    def quantile_ms(self, share: float) -> float | None:
        """Return the duration below which this share of them is, in milliseconds; None: none."""
        rank, seen = math.ceil(share * self.count), 0
        for bucket, count in sorted(self.buckets.items()):
            seen += count
            if seen >= rank:
                return round(float(GROWTH ** (bucket + 0.5)) / 1e6, 3)
        return None
