"""The cost of remedies according to the steps of their subject: API calls and time waited."""

import collections
import dataclasses
import statistics
from collections.abc import Sequence

from harness.history import records

PREFIX = "remedy."
"""Beginning of the names of steps that a remedy takes."""
FENCED, READ, POSTPONED = "remedy.fenced", "remedy.read", "remedy.postponed"


class RemedySteps:
    """Counts the steps of remedies and the time that they waited."""

    def __init__(self) -> None:
        self.counts: collections.Counter[str] = collections.Counter()
        self.waits: list[tuple[int, int]] = []
        """Begin and end of each wait, in nanoseconds; a remedy reports it at its end."""

    def add(self, step: records.Step) -> None:
        """Count a step, if a remedy has taken it."""
        if not step.name.startswith(PREFIX):
            return
        self.counts[step.name] += 1
        waited_ms = step.fields.get("waited_ms")
        if isinstance(waited_ms, int | float) and waited_ms > 0:
            self.waits.append((step.ts_ns - round(waited_ms * 1e6), step.ts_ns))


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
    """Median and longest wait; empty if there was none."""
    share: str
    """Share of the time from the first allocation to the last in which anything waited; empty if
    unknown."""


def costs(remedies: Sequence[str], steps: RemedySteps, allocated_ns: Sequence[int]) -> Costs | None:
    """Return the costs; None if no remedy was switched on.

    `allocated_ns` are the times of all allocations of devices.
    """
    if not remedies:
        return None
    return Costs(
        remedies=remedies,
        fences=steps.counts[FENCED],
        reads=steps.counts[READ],
        retries=steps.counts[POSTPONED],
        waits=len(steps.waits),
        waited=_waited(steps.waits),
        share=_share(steps.waits, allocated_ns),
    )


def _waited(waits: Sequence[tuple[int, int]]) -> str:
    if not waits:
        return ""
    lengths = [(end - begin) / 1e6 for begin, end in waits]
    return f"median {statistics.median(lengths):.0f} ms, longest {max(lengths):.0f} ms"


def _share(waits: Sequence[tuple[int, int]], allocated_ns: Sequence[int]) -> str:
    """Return the share of the scheduling time that is covered by waits, which may overlap."""
    first, last = min(allocated_ns, default=0), max(allocated_ns, default=0)
    if first == last:
        return ""
    covered, reached = 0, first
    for begin, end in sorted(waits):
        covered += max(min(end, last) - max(begin, reached), 0)
        reached = max(reached, end)
    return f"{100 * covered / (last - first):.1f} %"
