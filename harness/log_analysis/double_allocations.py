"""One device that two claims have, and a gather that missed a device, as found in a log."""

import dataclasses
from collections.abc import Iterator

from harness.log_analysis.claim_lines import ClaimLines, Gather, InFlightLine
from harness.log_analysis.log_records import LogRecord

LISTED_MAX = 3
"""Lines of what a gather listed that are shown; the others are counted."""


@dataclasses.dataclass(frozen=True, slots=True)
class DoubleAllocation:
    """Two claims that have one device at a time."""

    device: str
    """`driver/pool/device`."""
    first: ClaimLines
    second: ClaimLines
    shown_by: LogRecord
    """The line with which it is certain."""

    def records(self) -> Iterator[LogRecord]:
        """Yield the lines about both claims, and the first ones of what the gather listed."""
        yield from self.first.records()
        yield from self.second.records()
        for line in self.second.in_flight[:LISTED_MAX]:
            yield line.record


def in_order(one: ClaimLines, other: ClaimLines) -> tuple[ClaimLines, ClaimLines]:
    """Return the claim first that got the device first."""
    if one.reserved and other.reserved and other.reserved.order < one.reserved.order:
        return other, one
    return one, other


@dataclasses.dataclass(slots=True)
class StaleGather:
    """A gather that missed a device, or may have missed it."""

    gather: Gather
    device: str
    missed: ClaimLines
    is_certain: bool
    """False if the log does not show what the gather found."""
    in_flight: tuple[InFlightLine, ...] = ()
    """The claims that it listed as in flight; empty if those lines are not known."""
    is_followed: bool = False
    """True if the log goes on to what was allocated with it."""

    def records(self) -> Iterator[LogRecord]:
        """Yield the lines about the claim, the gather, and the first ones of what it listed."""
        yield from self.missed.records()
        yield from self.gather.records()
        for line in self.in_flight[:LISTED_MAX]:
            yield line.record
