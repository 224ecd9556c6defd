"""Reads which claims in flight a gather listed, from text that is still at hand."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from harness.log_analysis import messages
from harness.log_analysis.claim_moments import Gather, InFlightLine
from harness.log_analysis.log_records import LogRecord

LINES_MAX = 10_000
"""Lines of one listing that are read."""
_BYTES_MAX = 2**23
_LINE = re.compile(rb"^[^\n]*" + re.escape(messages.IN_FLIGHT) + rb"[^\n]*$", re.M)


def of_gather(gather: Gather | None, reserved: LogRecord) -> tuple[InFlightLine, ...]:
    """Return the listing of a gather with which this plan was made.

    Empty if the log does not tell when the gather began, or the text is not at hand any more.
    """
    begin = gather.begin if gather else None
    if begin is None or begin.file is not reserved.file:
        return ()
    end = gather.finished if gather and gather.finished else reserved
    return tuple(between(begin, end.offset))


def between(begin: LogRecord, end: int) -> Iterator[InFlightLine]:
    """Yield the lines about claims in flight from a line on, up to a place in its file."""
    count, thread = 0, begin.thread
    for block in begin.file.between(max(begin.offset, end - _BYTES_MAX), end):
        number, counted = block.line, 0
        for match in _LINE.finditer(block.text):
            number += block.text.count(b"\n", counted, match.start())
            counted = match.start()
            record = _record(begin, match[0], number, block.offset + counted)
            if record.thread != thread:
                continue  # of another scheduler, whose lines are in the same file
            device, claim = record.value("device"), record.value("claim")
            if device and claim:
                yield InFlightLine(record, device, claim)
            count += 1
            if count >= LINES_MAX:
                return


def _record(begin: LogRecord, line: bytes, number: int, offset: int) -> LogRecord:
    fields: Any = None
    if begin.fields is not None:
        try:
            fields = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            fields = {}
    record = LogRecord(begin.file, number, offset, begin.message, line[:4096], fields=fields)
    record.order = begin.order
    return record
