"""Draws the phases of a run above a plot over time: a segment for each, and a line through the plot
where the next one begins."""

import dataclasses
from collections.abc import Sequence

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
    """From seconds of the run to percent."""
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
