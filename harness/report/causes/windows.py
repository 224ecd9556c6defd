"""The window of a race: from the stale read of the scheduler to the write that it missed."""

import dataclasses
from collections.abc import Sequence

from harness.checks import verdicts
from harness.history import records
from harness.report.causes import explaining


@dataclasses.dataclass(frozen=True, slots=True)
class Window:
    """A stale read, and the write that it missed."""

    read: records.Step
    """The scheduler copied the allocated devices for the second claim."""
    missed: records.Step
    """The device was inserted for the first claim, too late for that read."""
    first_rv: int
    """resourceVersion of the first allocation."""
    second_rv: int

    @property
    def length_ms(self) -> float:
        """Its length in milliseconds."""
        return (self.missed.ts_ns - self.read.ts_ns) / 1e6

    @property
    def text(self) -> str:
        """The window in words."""
        return (
            f"The window was {self.length_ms:,.3f} ms long: from the stale read "
            f"({self.read.name}) to the write that it missed ({self.missed.name}). The second "
            f"allocation was committed as resourceVersion {self.second_rv}, "
            f"{self.second_rv - self.first_rv:,} after the first one, {self.first_rv}."
        )


def find(violation: verdicts.DoubleAllocation, steps: Sequence[records.Step]) -> Window | None:
    """Return the window; None if the steps show no stale read, or no write that it missed."""
    if not steps:
        return None
    moments = explaining.find(violation, steps)
    by_seq = {step.seq: step for step in steps}
    read = by_seq.get(moments.cloned) if moments.cloned is not None else None
    missed = by_seq.get(moments.inserted) if moments.inserted is not None else None
    if read is None or missed is None or missed.ts_ns < read.ts_ns:
        return None
    first, second = violation.holders
    return Window(read, missed, first.held_from_rv, second.held_from_rv)
