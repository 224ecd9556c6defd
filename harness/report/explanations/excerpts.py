"""The lines of a log that tell of a double allocation, with what each of them means."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

from harness.log_analysis.claim_moments import ClaimMoments, Gather, InFlightLine
from harness.log_analysis.double_allocations import DoubleAllocation, StaleGather
from harness.log_analysis.log_records import LogRecord

TEXT_MAX = 600
"""Characters of a line that are shown."""
LISTED_MAX = 3
"""Lines of what a gather listed that are shown; the others are counted."""


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    """A line of a log."""

    log: str
    number: int
    text: str
    meaning: str
    """The meaning of the line for the double allocation."""


def of_double_allocation(found: DoubleAllocation) -> list[Line]:
    """Return the lines about both claims, in the order of the logs."""
    first, second = found.first, found.second
    entries = [*_of_claim(first, "first"), *_of_claim(second, "second")]
    entries += _of_gather(second.gather, second.in_flight, "second: ")
    return _in_order(entries)


def of_stale_gather(stale: StaleGather) -> list[Line]:
    """Return the lines about a gather and the claim whose device it missed."""
    entries = [*_of_claim(stale.missed, "missed"), *_of_gather(stale.gather, stale.in_flight, "")]
    return _in_order(entries)


def _in_order(entries: Iterable[tuple[LogRecord, str]]) -> list[Line]:
    """Return the lines as they stand in their file, or in the order of time for several files."""
    known = list(entries)
    is_one_file = len({record.file.name for record, _ in known}) < 2
    ordered = sorted(
        known, key=lambda entry: (0 if is_one_file else entry[0].order, entry[0].number)
    )
    distinct = {(record.file.name, record.number): (record, meaning) for record, meaning in ordered}
    return [
        Line(record.file.name, record.number, _shortened(record.text), meaning)
        for record, meaning in distinct.values()
    ]


def _of_claim(moments: ClaimMoments, rank: str) -> Iterator[tuple[LogRecord, str]]:
    for record, meaning in (
        (moments.reserved, "Reserve: planned, and in flight from here on"),
        (moments.released, "given up, no longer in flight"),
        (moments.written, "PreBind: stored by the API server"),
        (moments.assumed, "PreBind: put into the assume cache"),
        (moments.removed, "PreBind: no longer in flight"),
        (moments.observed, "the allocated devices get the device"),
        (moments.binding, "Bind: PreBind has ended"),
        (moments.freed_by, "the allocated devices lose the device"),
    ):
        if record is not None:
            yield record, f"{rank}: {meaning}"


def _of_gather(
    gather: Gather | None, listed: Sequence[InFlightLine], rank: str
) -> Iterator[tuple[LogRecord, str]]:
    if gather is None:
        return
    for record, meaning in (
        (gather.attempt, "PreFilter: the attempt begins, the gather follows"),
        (gather.started, "the gather begins"),
        (gather.finished, "the gather ends"),
    ):
        if record is not None:
            yield record, f"{rank}{meaning}"
    count = len(listed)
    for position, line in enumerate(listed[:LISTED_MAX], 1):
        more = f", {count - LISTED_MAX} more follow" if position == LISTED_MAX < count else ""
        yield line.record, f"{rank}the gather lists in-flight claims ({position} of {count}{more})"


def _shortened(line: bytes) -> str:
    text = line.decode(errors="replace").rstrip("\r")
    return text if len(text) <= TEXT_MAX else f"{text[:TEXT_MAX]}…"
