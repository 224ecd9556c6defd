"""Draws the faults of a run above a plot over time, and shades the plot while they are on.

Each fault has a lane with its name: a bar while it is on, a mark where it takes effect.
"""

import collections
import dataclasses
from collections.abc import Iterator, Sequence

from harness.checks.faults import fault_records
from harness.history import records
from harness.report import drawing

LANES_MAX = 12
"""Faults with a lane of their own; the others share the last lane."""
_HEIGHT, _BAR = 15.0, 10.0
_MARKS = 300
"""Marks closer than this share of the plot are drawn as one."""


@dataclasses.dataclass(frozen=True, slots=True)
class Lanes:
    """Lanes at the top of a picture."""

    names: dict[str, Sequence[str]]
    """Label of a lane -> the faults that it shows."""
    faults: fault_records.FaultRecords
    scale: drawing.Scale
    """From seconds of the run to percent."""
    started_ns: int

    @property
    def height(self) -> float:
        """The height of all lanes; 0 without faults."""
        return len(self.names) * _HEIGHT + 6 if self.names else 0.0

    def draw(self, *, floor: float) -> list[str]:
        """Return the shapes: shades down to `floor` first, so that the plot covers them."""
        shapes = [
            drawing.rect(left, 0, right - left, floor, kind="fault-shade")
            for left, right in self._shaded()
        ]
        for index, (label, members) in enumerate(self.names.items()):
            shapes += self._lane(label, members, index * _HEIGHT)
        return shapes

    def describe(self) -> str:
        """Return the lanes in words, for readers who do not see the picture."""
        return " ".join(
            f"Fault {window.fault} was on from {self._second(window.begun_ns):.2f} s to "
            f"{self._second(window.ended_ns):.2f} s and took effect {times(window.applied_count)}."
            for window in self.faults.windows
        )

    def _shaded(self) -> list[tuple[float, float]]:
        """Return the parts of the plot in which any fault was on, from left to right."""
        parts: list[tuple[float, float]] = []
        for window in sorted(self.faults.windows, key=lambda window: window.begun_ns):
            left, right = self._edges(window)
            if parts and left <= parts[-1][1]:
                parts[-1] = parts[-1][0], max(right, parts[-1][1])
            else:
                parts.append((left, right))
        return parts

    def _lane(self, label: str, members: Sequence[str], y: float) -> Iterator[str]:
        yield drawing.label(0, y + _BAR + 1, drawing.shortened(label), kind="lane small", aside=3)
        for window in self.faults.windows:
            if window.fault in members:
                left, right = self._edges(window)
                title = f"{window.fault} is on"
                yield drawing.rect(left, y, right - left, _BAR, kind="fault-window", title=title)
        for second, count, last in self._marks(members):
            title = f"{last.fault}: took effect {times(count)} at {second:.2f} s"
            yield drawing.rect(self.scale(second), y, 0.25, _BAR, kind="fault-mark", title=title)

    def _edges(self, window: records.FaultWindow) -> tuple[float, float]:
        begun, ended = self._second(window.begun_ns), self._second(window.ended_ns)
        return self.scale(begun), self.scale(ended)

    def _marks(self, members: Sequence[str]) -> Iterator[tuple[float, int, records.FaultApplied]]:
        """Yield second, number of effects and the last of them, for effects that are close."""
        width = (self.scale.high - self.scale.low) / _MARKS or 1.0
        bins: dict[int, list[records.FaultApplied]] = collections.defaultdict(list)
        for item in self.faults.applications:
            if item.fault in members:
                bins[int(self._second(item.begun_ns) / width)].append(item)
        for items in bins.values():
            yield self._second(items[0].begun_ns), len(items), items[-1]

    def _second(self, ns: int) -> float:
        return (ns - self.started_ns) / 1e9


def lanes(faults: fault_records.FaultRecords, scale: drawing.Scale, *, started_ns: int) -> Lanes:
    """Return the lanes of the faults that were on, in the order in which they began."""
    begun = sorted(faults.windows, key=lambda window: window.begun_ns)
    found = list(dict.fromkeys([window.fault for window in begun] + _applied(faults)))
    own = found if len(found) <= LANES_MAX else found[: LANES_MAX - 1]
    names: dict[str, Sequence[str]] = {name: [name] for name in own}
    if own is not found:
        names[f"{len(found) - len(own)} more faults"] = found[len(own) :]
    return Lanes(names, faults, scale, started_ns)


def _applied(faults: fault_records.FaultRecords) -> list[str]:
    return [item.fault for item in faults.applications]


def times(count: int) -> str:
    """Return a number of effects in words."""
    return "once" if count == 1 else f"{count:,} times"
