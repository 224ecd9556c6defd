"""The lines of a log about a double allocation, with what each of them means."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

from harness.log_analysis import double_allocations
from harness.log_analysis.double_allocations import (
    ClaimLines,
    DoubleAllocation,
    Gather,
    InFlightLine,
    StaleGather,
)
from harness.log_analysis.log_records import LogRecord, Neighbours

TEXT_MAX = 600
"""Characters of a line that are shown."""
BESIDE_MAX = 200
"""Characters of a line beside such a line that are shown."""


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    """A line of a log."""

    log: str
    number: int
    text: str
    meaning: str
    """The meaning of the line for the double allocation; empty for a line beside such a line."""


def of_double_allocation(found: DoubleAllocation) -> list[Line]:
    first, second = found.first, found.second
    entries = [*_of_claim(first, "first"), *_of_claim(second, "second")]
    entries += _of_gather(second.gather, second.in_flight, "second: ")
    return _in_order(entries)


def of_stale_gather(stale: StaleGather) -> list[Line]:
    """Return the lines about a gather and the claim whose device it missed."""
    entries = [*_of_claim(stale.missed, "missed"), *_of_gather(stale.gather, stale.in_flight, "")]
    return _in_order(entries)


def of_lines(records: Iterable[LogRecord]) -> list[Line]:
    return [_line(record, "") for record in records]


def _in_order(entries: Iterable[tuple[LogRecord, str]]) -> list[Line]:
    known = list(entries)
    is_one_file = len({record.file.name for record, _ in known}) < 2
    ordered = sorted(
        known, key=lambda entry: (0 if is_one_file else entry[0].order, entry[0].number)
    )
    about = {
        (record.file.name, record.number): _line(record, meaning) for record, meaning in ordered
    }
    shown: dict[tuple[str, int], Line] = {}
    for record, _ in ordered:
        for line in _with_neighbours(record):
            place = (line.log, line.number)
            shown.setdefault(place, about.get(place, line))
    return list(shown.values())


def _with_neighbours(record: LogRecord) -> Iterator[Line]:
    around = record.neighbours or Neighbours((), ())
    first = record.number - len(around.before)
    for number, text in enumerate(around.before, first):
        yield Line(record.file.name, number, _shortened(text, BESIDE_MAX), "")
    yield _line(record, "")
    for number, text in enumerate(around.after, record.number + 1):
        yield Line(record.file.name, number, _shortened(text, BESIDE_MAX), "")


def _line(record: LogRecord, meaning: str) -> Line:
    return Line(record.file.name, record.number, _shortened(record.text, TEXT_MAX), meaning)


def _of_claim(moments: ClaimLines, rank: str) -> Iterator[tuple[LogRecord, str]]:
    for record, meaning in (
        (moments.reserved, "Reserve: planned, and in flight from here on"),
        (moments.released, "given up, no longer in flight"),
        (moments.written, "PreBind: stored by the API server"),
        (moments.assumed, "PreBind: put into the assume cache"),
        (moments.removed, "PreBind: no longer in flight"),
        (moments.unanswered, "PreBind: no answer to the status write"),
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
    for position, line in enumerate(listed[: double_allocations.LISTED_MAX], 1):
        more = (
            f", {count - double_allocations.LISTED_MAX} more follow"
            if position == double_allocations.LISTED_MAX < count
            else ""
        )
        yield line.record, f"{rank}the gather lists in-flight claims ({position} of {count}{more})"


def _shortened(line: bytes, length: int) -> str:
    text = line.decode(errors="replace").rstrip("\r")
    return text if len(text) <= length else f"{text[:length]}…"
