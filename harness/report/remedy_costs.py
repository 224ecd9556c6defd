"""The cost of remedies according to the steps of their subject: API calls and time waited."""

import collections
import dataclasses
from collections.abc import Sequence

from harness.checks import figures
from harness.history import records

PREFIX = "remedy."
"""Beginning of the names of steps that a remedy takes."""
FENCED, READ, POSTPONED = "remedy.fenced", "remedy.read", "remedy.postponed"


class RemedySteps:
    """Counts the steps of remedies and the time that they waited."""

    def __init__(self) -> None:
        self.counts: collections.Counter[str] = collections.Counter()
        self.waits_ms: list[float] = []
        """Each wait that a remedy has reported at its end, in milliseconds."""

    def add(self, step: records.Step) -> None:
        """Count a step, if a remedy has taken it."""
        if not step.name.startswith(PREFIX):
            return
        self.counts[step.name] += 1
        waited_ms = step.fields.get("waited_ms")
        if isinstance(waited_ms, int | float) and waited_ms >= 0:
            self.waits_ms.append(waited_ms)


@dataclasses.dataclass(frozen=True, slots=True)
class Costs:
    """The cost of the remedies in one run, in words."""

    remedies: Sequence[str]
    """Names of the remedies that were switched on."""
    fences: int
    """Writes that only give a claim a new version."""
    reads: int
    retries: int
    """Attempts that failed and were repeated later."""
    waits: int
    """Number of waits."""
    waited: str
    """Their sum and the longest one."""
    share: str
    """Their sum compared with the time from the first allocation to the last; empty if unknown."""


def costs(remedies: Sequence[str], steps: RemedySteps, measured: figures.Figures) -> Costs | None:
    """Return the costs; None if no remedy was switched on."""
    if not remedies:
        return None
    total_ms, longest_ms = sum(steps.waits_ms), max(steps.waits_ms, default=0.0)
    seconds = measured.scheduling_seconds
    return Costs(
        remedies=remedies,
        fences=steps.counts[FENCED],
        reads=steps.counts[READ],
        retries=steps.counts[POSTPONED],
        waits=len(steps.waits_ms),
        waited=f"{total_ms:.0f} ms, the longest {longest_ms:.0f} ms" if steps.waits_ms else "",
        share=f"{total_ms / 10 / seconds:.1f} %" if seconds and steps.waits_ms else "",
    )
