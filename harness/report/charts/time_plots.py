"""The frame of every plot over time: an axis that starts with the load, phases and faults."""

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from harness.checks.faults import fault_records
from harness.history import records
from harness.report import drawing
from harness.report.charts import fault_lanes, phase_lanes

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
        """From seconds to percent."""
        return drawing.Scale(self.begin_s, self.end_s)

    def edges(self, count: int) -> Times:
        """Return the edges of bins of equal length, in nanoseconds since the start of the run."""
        edges: Times = np.linspace(self.begin_s * 1e9, self.end_s * 1e9, count + 1)
        return edges

    def bin_text(self, count: int) -> str:
        """Return the length of a bin in words."""
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
        phases = phase_lanes.PhaseLane(self.phases, self.scale, self.started_ns)
        faults = fault_lanes.lanes(self.faults, self.scale, started_ns=self.started_ns)
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
