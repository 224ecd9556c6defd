"""One device that two claims have, and a gather that missed a device, as found in a log."""

import dataclasses
from collections.abc import Iterator, Sequence

import msgspec

from harness.log_analysis.log_records import LogRecord

LISTED_MAX = 3
"""Lines of what a gather listed that are shown; the others are counted."""
Told = Iterator[tuple[LogRecord, str]]
"""Lines, each with what it means."""


class Gather(msgspec.Struct, eq=False):
    """One look of the scheduler at all devices in use, before it allocated some."""

    attempt: LogRecord | None = None
    """The attempt to schedule a pod began; the gather follows."""
    started: LogRecord | None = None
    finished: LogRecord | None = None
    """The last gather of the attempt; None in releases that log neither."""
    devices: frozenset[str] | None = None
    """All devices in use that it found; None if they are not known completely."""

    @property
    def begin(self) -> LogRecord | None:
        """The line that is known to be before the gather."""
        return self.started or self.attempt

    def told(self, listed: Sequence["InFlightLine"]) -> Told:
        """Yield the lines that are known; `listed` are the claims that it listed as in flight."""
        for record, meaning in (
            (self.attempt, "PreFilter: the attempt begins, the gather follows"),
            (self.started, "the gather begins"),
            (self.finished, "the gather ends"),
        ):
            if record is not None:
                yield record, meaning
        count = len(listed)
        for position, line in enumerate(listed[:LISTED_MAX], 1):
            more = f", {count - position} more follow" * (position == LISTED_MAX < count)
            yield line.record, f"the gather lists in-flight claims ({position} of {count}{more})"


class ClaimLines(msgspec.Struct, eq=False):
    """The lines about one allocation of a claim, from its plan on; None for missing ones."""

    claim: str
    """`namespace/name`."""
    scheduler: str = ""
    """The process that planned it, if there are several; the number that klog shows."""
    devices: tuple[str, ...] = ()
    """Devices that no other claim may have, as `driver/pool/device`."""
    uid: str = ""
    pod: str = ""
    node: str = ""
    gather: Gather | None = None
    """The look at the devices in use that the allocation was planned with."""
    reserved: LogRecord | None = None
    written: LogRecord | None = None
    assumed: LogRecord | None = None
    removed: LogRecord | None = None
    """It left the claims in flight."""
    released: LogRecord | None = None
    """The allocation was given up, because something after Reserve failed."""
    unanswered: LogRecord | None = None
    """The answer to the write of its status was lost: whether it was stored is unknown."""
    ended: LogRecord | None = None
    """The attempt failed after the plan, or another attempt to schedule the pod began."""
    binding: LogRecord | None = None
    bound: LogRecord | None = None
    observed: LogRecord | None = None
    """The scheduler put its (last) device into the allocated devices."""
    freed_by: LogRecord | None = None
    """The end of another claim's allocation took the device out of them."""
    in_flight: tuple["InFlightLine", ...] = ()
    """The claims that the gather listed, if another claim had the device."""
    is_listing_known: bool = False
    """True if those lines were still kept."""

    def told(self) -> Told:
        """Yield the lines that are known."""
        for record, meaning in (
            (self.reserved, "Reserve: planned, and in flight from here on"),
            (self.released, "given up, no longer in flight"),
            (self.written, "PreBind: stored by the API server"),
            (self.assumed, "PreBind: put into the assume cache"),
            (self.removed, "PreBind: no longer in flight"),
            (self.unanswered, "PreBind: no answer to the status write"),
            (self.observed, "the allocated devices get the device"),
            (self.binding, "Bind: PreBind has ended"),
            (self.freed_by, "the allocated devices lose the device"),
        ):
            if record is not None:
                yield record, meaning


@dataclasses.dataclass(frozen=True, slots=True)
class InFlightLine:
    """A claim in flight that a gather listed."""

    record: LogRecord
    device: str
    claim: str


def precedes(first: LogRecord | None, second: LogRecord | None) -> bool:
    """Return whether one line is certainly before another one, by place and by time.

    Lines of several threads may be written in another order than that of their times: then the
    order is unknown. False if one of the lines is missing.
    """
    if first is None or second is None:
        return False
    return first.order < second.order and first.time_us <= second.time_us


@dataclasses.dataclass(slots=True)
class DoubleAllocation:
    """Two claims that have one device at a time."""

    device: str
    """`driver/pool/device`."""
    first: ClaimLines
    second: ClaimLines
    shown_by: LogRecord
    """The line with which both seem to have it."""
    freed: LogRecord | None = None
    """The claim that had the device before lost it after that."""
    is_whole: bool = True
    """False if the log lacks lines between the two allocations, or close to them."""

    @property
    def gather(self) -> Gather:
        """That of the second claim; without any line if it is not known."""
        return self.second.gather or Gather()

    def told(self) -> Told:
        """Yield the lines about both claims, and the first ones of what the gather listed."""
        for rank, lines in (
            ("first", self.first.told()),
            ("second", self.second.told()),
            ("second", self.gather.told(self.second.in_flight)),
        ):
            yield from ((record, f"{rank}: {meaning}") for record, meaning in lines)


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

    def told(self) -> Told:
        """Yield the lines about the claim, the gather, and the first ones of what it listed."""
        yield from ((record, f"missed: {meaning}") for record, meaning in self.missed.told())
        yield from self.gather.told(self.in_flight)


DEVICES_MAX = 200_000
"""Devices that a table remembers; the first ones are forgotten first."""
CLAIMS_OF_DEVICE_MAX = 20
"""Claims that are remembered for one device, the latest ones."""


class ClaimTable(dict[str, dict[str, None]]):
    """Claims of each device, in the order in which they came."""

    def add(self, device: str, claim: str) -> None:
        if device not in self and len(self) >= DEVICES_MAX:
            del self[next(iter(self))]
        claims = self.setdefault(device, {})
        claims[claim] = None
        if len(claims) > CLAIMS_OF_DEVICE_MAX:
            del claims[next(iter(claims))]

    def discard(self, device: str, claim: str) -> None:
        claims = self.get(device)
        if claims is not None:
            claims.pop(claim, None)
            if not claims:
                del self[device]
