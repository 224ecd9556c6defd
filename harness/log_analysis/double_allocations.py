"""One device that two claims have, and a gather that missed a device, as found in a log."""

import dataclasses

from harness.log_analysis.claim_moments import ClaimMoments, Gather, InFlightLine
from harness.log_analysis.log_records import LogRecord


@dataclasses.dataclass(frozen=True, slots=True)
class DoubleAllocation:
    """Two claims that have one device at a time."""

    device: str
    """`driver/pool/device`."""
    first: ClaimMoments
    second: ClaimMoments
    shown_by: LogRecord
    """The line with which it is certain."""


@dataclasses.dataclass(slots=True)
class StaleGather:
    """A gather that missed a device, or may have missed it."""

    gather: Gather
    device: str
    missed: ClaimMoments
    is_certain: bool
    """False if the log does not show what the gather found."""
    in_flight: tuple[InFlightLine, ...] = ()
    """The claims that it listed as in flight; empty if those lines are not known."""
    is_followed: bool = False
    """True if the log goes on to what was allocated with it."""
