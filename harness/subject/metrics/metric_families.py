"""Metric families and their text form, as Prometheus reads it."""

import dataclasses
from collections.abc import Iterable, Mapping

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
    """`counter` or `gauge`."""
    label_names: Labels
    samples: Mapping[Labels, float]


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


def render(families: Iterable[Family]) -> str:
    """Return the text of metric families; one without samples has its name and help."""
    return "".join(_rendered(family) for family in families)


def _rendered(family: Family) -> str:
    lines = [f"# HELP {family.name} {family.help}", f"# TYPE {family.name} {family.kind}"]
    for labels, value in sorted(family.samples.items()):
        pairs = zip(family.label_names, labels, strict=True)
        text = ",".join(f'{name}="{_escaped(label)}"' for name, label in pairs)
        lines.append(f"{family.name}{{{text}}} {value:g}" if text else f"{family.name} {value:g}")
    return "\n".join(lines) + "\n"


def _escaped(label: str) -> str:
    return label.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
