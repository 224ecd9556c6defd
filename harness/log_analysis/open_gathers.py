"""Follows the gathers of a scheduler, and notices those that missed a device."""

import dataclasses
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from harness.log_analysis import messages
from harness.log_analysis.double_allocations import (
    ClaimLines,
    Gather,
    InFlightLine,
    StaleGather,
)
from harness.log_analysis.log_records import LogRecord

LINES_MAX = 10_000
"""Lines of one listing that are read."""
_BYTES_MAX = 2**23
_LINE = re.compile(rb"^[^\n]*" + re.escape(messages.IN_FLIGHT) + rb"[^\n]*$", re.M)


def of_gather(gather: Gather | None, reserved: LogRecord) -> tuple[InFlightLine, ...]:
    """Return the listing of a gather with which this plan was made.

    Empty if the log does not show when the gather began, or the text is no longer kept.
    """
    begin = gather.begin if gather else None
    if begin is None or begin.file is not reserved.file:
        return ()
    end = gather.finished if gather and gather.finished else reserved
    return tuple(between(begin, end.offset))


def between(begin: LogRecord, end: int) -> Iterator[InFlightLine]:
    """Yield the lines about claims in flight from a line on, up to a place in its file."""
    count, writer = 0, (begin.thread, begin.source)
    for block in begin.file.between(max(begin.offset, end - _BYTES_MAX), end):
        number, counted = block.line, 0
        for match in _LINE.finditer(block.text):
            number += block.text.count(b"\n", counted, match.start())
            counted = match.start()
            record = _record(begin, match[0], number, block.offset + counted)
            if (record.thread, record.source) != writer:
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


STALE_MAX = 1_000
"""Gathers that are kept because they missed a device."""
_THREADS_MAX = 1_000
_DURING_MAX = 10_000
_DEVICE = re.compile(rb'"([^"\s/]+/[^"\s]+/[^"\s/]+)"')
_ERROR = re.compile(rb'(?:\berr=|"err": ?)"')
_NO_ERROR = ("", "null", "nil", "<nil>")
_SHORTENED = b'"..."'
"""The sign for devices in the middle, at verbosity 6."""
_LIST = re.compile(rb'"devices": ?(?:<[^>]*>:? ?)?[\[{]')
_COUNT = re.compile(rb'"count": ?(?:<int> ?)?(\d+)')


@dataclasses.dataclass(slots=True)
class _Open:
    """A gather whose end was not seen yet."""

    gather: Gather
    start: LogRecord
    observed: list[tuple[str, ClaimLines]] = dataclasses.field(default_factory=list)
    """Devices that became visible during it."""
    left: list[tuple[str, ClaimLines]] = dataclasses.field(default_factory=list)
    """Those of them whose claim also left the claims in flight during it."""


class OpenGathers:
    """The latest gather of each thread that schedules pods; normally there is one such thread."""

    def __init__(self, stale: list[StaleGather]) -> None:
        """`stale`: gets the gathers that missed a device."""
        self._stale = stale
        self._by_thread: dict[str, Gather] = {}
        self._open: dict[str, _Open] = {}

    def see_attempt(self, record: LogRecord) -> None:
        thread = record.thread
        self._follow(thread)
        if len(self._by_thread) > _THREADS_MAX:
            self._by_thread.clear()
            self._open.clear()
        self._by_thread[thread] = Gather(attempt=record)
        self._open.pop(thread, None)

    def see_start(self, record: LogRecord) -> None:
        """Take in that a gather began, perhaps after one with a conflict."""
        thread = record.thread
        before = self._by_thread.get(thread) or Gather()
        gather = Gather(before.attempt, started=record)
        self._by_thread[thread] = gather
        self._open[thread] = _Open(gather, record)

    def see_finish(self, record: LogRecord) -> None:
        content, record.document = record.document, b""
        opened = self._open.get(record.thread)
        if opened is None:
            return
        if not content:  # the log ends here
            opened.gather.finished = record
            return
        del self._open[record.thread]
        gather = opened.gather
        if record.value("err") not in _NO_ERROR or _ERROR.search(content):
            return  # it is repeated
        gather.finished, gather.devices = record, _devices(content)
        if gather.devices is not None:
            for device, moments in opened.left:
                if device not in gather.devices:
                    self._add(StaleGather(gather, device, moments, is_certain=True))

    def see_observed(self, device: str, moments: ClaimLines) -> None:
        for opened in self._open.values():
            if len(opened.observed) < _DURING_MAX:
                opened.observed.append((device, moments))

    def see_removed(self, moments: ClaimLines) -> None:
        for opened in self._open.values():
            opened.left += [entry for entry in opened.observed if entry[1] is moments]

    def take(self, reserved: LogRecord, claim: str) -> Gather | None:
        """Return the gather with which an allocation was planned; None if the log has none."""
        thread = reserved.thread
        self._follow(thread)
        self._open.pop(thread, None)
        gather = self._by_thread.get(thread)
        is_its_own = gather and gather.attempt and claim in gather.attempt.values("resourceclaims")
        return gather if is_its_own else None

    def end(self) -> None:
        """Take in that the log ends: what was found by gathers under way stays unknown."""
        for opened in self._open.values():
            for device, moments in opened.left:
                last = moments.removed or opened.start
                lines = tuple(between(opened.start, last.file.size))
                if device not in {line.device for line in lines}:
                    self._add(
                        StaleGather(
                            opened.gather, device, moments, is_certain=False, in_flight=lines
                        )
                    )

    def _add(self, stale: StaleGather) -> None:
        if len(self._stale) < STALE_MAX:
            self._stale.append(stale)

    def _follow(self, thread: str) -> None:
        if not self._stale:
            return
        gather = self._by_thread.get(thread)
        for stale in self._stale[-10:]:
            if stale.gather is gather:
                stale.is_followed = True


def _devices(content: bytes) -> frozenset[str] | None:
    """Return the devices in use; None if the list is not there, or not complete."""
    listed = _LIST.search(content)
    if listed is None or _SHORTENED in content:
        return None
    names = frozenset(
        name.decode(errors="replace") for name in _DEVICE.findall(content, listed.end())
    )
    count = _COUNT.search(content)
    return names if count is not None and int(count[1]) == len(names) else None
