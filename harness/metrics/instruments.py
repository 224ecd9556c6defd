"""Counters and histograms that several threads of a process change."""

import math
from collections.abc import Sequence

from harness import concurrency
from harness.metrics import metric_families
from harness.metrics.metric_families import Family, Labels


class Counter:
    """A number for each combination of labels that only grows; used by several threads."""

    def __init__(self, name: str, text: str, label_names: Labels) -> None:
        """`text` is the help text."""
        self._name, self._help, self._label_names = name, text, label_names
        self._guard = concurrency.lock(f"metrics.{name}")
        self._values: dict[Labels, float] = {}

    def add(self, *labels: str, amount: float = 1) -> None:
        """Add an amount for these values of the labels."""
        with self._guard:
            self._values[labels] = self._values.get(labels, 0) + amount

    def collect(self) -> Family:
        """Return the present values."""
        with self._guard:
            values = dict(self._values)
        return Family(self._name, self._help, "counter", self._label_names, values)


class Histogram:
    """Counts of values by their size, for each combination of labels; used by several threads."""

    def __init__(
        self, name: str, text: str, label_names: Labels, *, buckets: Sequence[float]
    ) -> None:
        """`text` is the help text; `buckets` are the upper limits, without infinity."""
        self._name, self._help, self._label_names = name, text, label_names
        self._limits = (*buckets, math.inf)
        self._guard = concurrency.lock(f"metrics.{name}")
        self._counts: dict[Labels, list[int]] = {}
        self._sums: dict[Labels, float] = {}

    def observe(self, value: float, *labels: str) -> None:
        """Count a value for these values of the labels."""
        with self._guard:
            counts = self._counts.setdefault(labels, [0] * len(self._limits))
            for index, limit in enumerate(self._limits):
                counts[index] += value <= limit
            self._sums[labels] = self._sums.get(labels, 0.0) + value

    def collect(self) -> Family:
        """Return the present counts."""
        with self._guard:
            samples: dict[Labels, float] = {
                (*labels, metric_families.limit_text(limit)): float(count)
                for labels, counts in self._counts.items()
                for limit, count in zip(self._limits, counts, strict=True)
            }
            sums = dict(self._sums)
        names = (*self._label_names, "le")
        return Family(self._name, self._help, "histogram", names, samples, sums)
