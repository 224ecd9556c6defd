"""Metric families and their text form, as Prometheus reads it."""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence

from harness import concurrency

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Labels = tuple[str, ...]
"""The values of a family's labels, in the order of their names."""


@dataclasses.dataclass(frozen=True, slots=True)
class Family:
    """Samples of one metric at one time."""

    name: str
    help: str
    kind: str
    """`counter`, `gauge` or `histogram`."""
    label_names: Labels
    samples: Mapping[Labels, float]
    """Of a histogram: the counts by bucket, whose upper limit is the last label, `le`."""
    sums: Mapping[Labels, float] = dataclasses.field(default_factory=dict)
    """Of a histogram: the sums, by the labels without `le`."""


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
                (*labels, _limit(limit)): float(count)
                for labels, counts in self._counts.items()
                for limit, count in zip(self._limits, counts, strict=True)
            }
            sums = dict(self._sums)
        names = (*self._label_names, "le")
        return Family(self._name, self._help, "histogram", names, samples, sums)


def _limit(limit: float) -> str:
    return "+Inf" if math.isinf(limit) else f"{limit:g}"


def render(families: Iterable[Family]) -> str:
    """Return the text of metric families; one without samples has its name and help."""
    return "".join(_rendered(family) for family in families)


def _rendered(family: Family) -> str:
    lines = [f"# HELP {family.name} {family.help}", f"# TYPE {family.name} {family.kind}"]
    is_histogram = family.kind == "histogram"
    name = f"{family.name}_bucket" if is_histogram else family.name
    samples = family.samples.items()
    for labels, value in samples if is_histogram else sorted(samples):
        lines.append(_line(name, family.label_names, labels, value))
    for labels, value in sorted(family.sums.items()):
        count = family.samples[*labels, "+Inf"]
        lines.append(_line(f"{family.name}_sum", family.label_names[:-1], labels, value))
        lines.append(_line(f"{family.name}_count", family.label_names[:-1], labels, count))
    return "\n".join(lines) + "\n"


def _line(name: str, label_names: Labels, labels: Labels, value: float) -> str:
    pairs = zip(label_names, labels, strict=True)
    text = ",".join(f'{key}="{_escaped(label)}"' for key, label in pairs)
    return f"{name}{{{text}}} {value:g}" if text else f"{name} {value:g}"


def _escaped(label: str) -> str:
    return label.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
