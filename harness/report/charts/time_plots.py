"""The frame of every plot over time: an axis that starts with the load, phases and faults."""

import collections
import dataclasses
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from harness.checks.faults import fault_records
from harness.history import records
from harness.report import drawing

HEIGHT = 17.0
"""Pixels above the plot."""
PHASES_MAX = 40
"""Phases that are drawn."""
_CHARACTER = 1.1
"""Width of a character, in percent of the narrowest plot that shows the names of phases."""


@dataclasses.dataclass(frozen=True, slots=True)
class PhaseLane:
    """The phases within a part of the run."""

    phases: Sequence[records.Phase]
    scale: drawing.Scale
    """Maps seconds of the run to percent."""
    started_ns: int

    @property
    def height(self) -> float:
        """The height of the lane; 0 without phases."""
        return HEIGHT if self._segments() else 0.0

    def draw(self, *, floor: float) -> list[str]:
        """Return the shapes; every second phase is shaded down to `floor`."""
        shapes = []
        for number, (left, right, phase) in enumerate(self._segments()):
            kind = f"phase phase{number % 2}"
            shapes.append(
                drawing.rect(left, 0, right - left, floor, kind=kind, title=self._words(phase))
            )
            if len(phase.name) * _CHARACTER < right - left:
                shapes.append(drawing.label(left, 11, phase.name, kind="tick small", aside=4))
        return shapes

    def _segments(self) -> list[tuple[float, float, records.Phase]]:
        shown = list(self.phases)[:PHASES_MAX]
        edges = [self.scale(self._second(phase)) for phase in shown] + [self.scale.right]
        return [
            (left, right, phase)
            for phase, left, right in zip(shown, edges, edges[1:], strict=False)
            if right > left
        ]

    def _words(self, phase: records.Phase) -> str:
        detail = f": {phase.detail}" if phase.detail else ""
        return f"phase “{phase.name}” from {self._second(phase):.2f} s{detail}"

    def _second(self, phase: records.Phase) -> float:
        return (phase.ts_ns - self.started_ns) / 1e9


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
    """Maps seconds of the run to percent."""
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
        """Return the lanes as text, for readers who do not see the picture."""
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
    """Return a number of effects as text."""
    return "once" if count == 1 else f"{count:,} times"


LOAD_PHASE = "starting the load"
"""The phase in which the plots begin if there is no object."""
_MARGIN = 0.02
"""Share of the axis that is shown before the load."""
Times = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True, slots=True)
class Chart:
    """A picture and its numbers as a table."""

    title: str
    picture: str
    """SVG."""
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    note: str = ""
    """How to read it, and what is left out or put together; empty: nothing is to be said."""
    legend: Sequence[str] = ()
    """Names of the lines, in the order of their styles; empty: there are no several lines."""


@dataclasses.dataclass(frozen=True, slots=True)
class TimeAxis:
    """The part of a run that plots show, in seconds since the start of the run."""

    begin_s: float
    end_s: float
    started_ns: int
    """The start of the run."""
    faults: fault_records.FaultRecords
    phases: Sequence[records.Phase]

    @property
    def scale(self) -> drawing.Scale:
        """Maps seconds to percent."""
        return drawing.Scale(self.begin_s, self.end_s)

    def edges(self, count: int) -> Times:
        """Return the edges of bins of equal length, in nanoseconds since the start of the run."""
        edges: Times = np.linspace(self.begin_s * 1e9, self.end_s * 1e9, count + 1)
        return edges

    def bin_text(self, count: int) -> str:
        """Return the length of a bin as text."""
        length_s = (self.end_s - self.begin_s) / count
        return f"{length_s:.3g} s" if length_s >= 1 else f"{length_s * 1e3:.3g} ms"

    def plot(
        self,
        body: Iterable[str],
        *,
        height: float,
        title: str,
        labels: Iterable[str] = (),
        description: str = "",
    ) -> str:
        """Return the picture of a body of this height below the phases and faults."""
        phases = PhaseLane(self.phases, self.scale, self.started_ns)
        faults = lanes(self.faults, self.scale, started_ns=self.started_ns)
        top = phases.height + faults.height
        floor = top + height + 4
        shapes = [
            *phases.draw(floor=floor),
            drawing.moved(faults.draw(floor=floor - phases.height), down=phases.height),
            drawing.moved(body, down=top + 2),
            '<g class="axis-of-time">',
            *drawing.time_axis(self.scale, y=floor, unit="s"),
            "</g>",
        ]
        return drawing.svg(
            shapes,
            height=floor + 22,
            title=title,
            description=" ".join(filter(None, (description, faults.describe()))),
            labels=[drawing.moved(labels, down=top + 2)],
            over=self.scale,
            unit="s",
        )


def axis(
    *,
    started_ns: int,
    ended_ns: int,
    phases: Iterable[records.Phase],
    faults: fault_records.FaultRecords,
    first_object_ns: int | None,
) -> TimeAxis:
    """Return the axis from the first object of the load to the end of the run.

    `first_object_ns` None: there is none, and the axis begins with the phase of the load, or with
    the run.
    """
    known = list(phases)
    begin = first_object_ns
    if begin is None:
        begin = next((phase.ts_ns for phase in known if phase.name == LOAD_PHASE), started_ns)
    begin_s = max((begin - started_ns) / 1e9, 0.0)
    end_s = max((ended_ns - started_ns) / 1e9, begin_s + 1e-9)
    return TimeAxis(
        max(begin_s - _MARGIN * (end_s - begin_s), 0.0), end_s, started_ns, faults, known
    )
