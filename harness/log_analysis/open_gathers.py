"""Follows the gathers of a scheduler, and notices those that missed a device."""

import dataclasses
import re

from harness.log_analysis import in_flight_listings, neighbouring_lines
from harness.log_analysis.claim_moments import ClaimMoments, Gather
from harness.log_analysis.double_allocations import StaleGather
from harness.log_analysis.log_records import LogRecord

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
    observed: list[tuple[str, ClaimMoments]] = dataclasses.field(default_factory=list)
    """Devices that became visible during it."""
    left: list[tuple[str, ClaimMoments]] = dataclasses.field(default_factory=list)
    """Those of them whose claim also left the claims in flight during it."""


class OpenGathers:
    """The latest gather of each thread that schedules pods; normally there is one such thread."""

    def __init__(self, stale: list[StaleGather]) -> None:
        """`stale`: gets the gathers that missed a device."""
        self._stale = stale
        self._by_thread: dict[str, Gather] = {}
        self._open: dict[str, _Open] = {}

    def forget(self) -> None:
        """Forget all gathers: the scheduler was started again."""
        self._by_thread.clear()
        self._open.clear()

    def see_attempt(self, record: LogRecord) -> None:
        """Take in that an attempt to schedule a pod began."""
        thread = record.thread
        self._follow(thread)
        if len(self._by_thread) > _THREADS_MAX:
            self.forget()
        self._by_thread[thread] = Gather(attempt=record)
        self._open.pop(thread, None)

    def see_start(self, record: LogRecord) -> None:
        """Take in that a gather began, perhaps after one with a conflict."""
        thread = record.thread
        before = self._by_thread.get(thread) or Gather()
        gather = Gather(before.attempt, started=record, conflicts=before.conflicts)
        self._by_thread[thread] = gather
        self._open[thread] = _Open(gather, record)

    def see_finish(self, record: LogRecord) -> None:
        """Take in what a gather found."""
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
            gather.conflicts += 1
            return
        gather.finished, gather.devices = record, _devices(content)
        if gather.devices is not None:
            for device, moments in opened.left:
                if device not in gather.devices:
                    self._add(StaleGather(gather, device, moments, is_certain=True))

    def see_observed(self, device: str, moments: ClaimMoments) -> None:
        """Take in that a device became visible."""
        for opened in self._open.values():
            if len(opened.observed) < _DURING_MAX:
                opened.observed.append((device, moments))

    def see_removed(self, moments: ClaimMoments) -> None:
        """Take in that a claim left the claims in flight."""
        for opened in self._open.values():
            opened.left += [entry for entry in opened.observed if entry[1] is moments]

    def take(self, reserved: LogRecord) -> Gather | None:
        """Return the gather with which an allocation was planned; None if the log has none."""
        thread = reserved.thread
        self._follow(thread)
        self._open.pop(thread, None)
        return self._by_thread.get(thread)

    def end(self) -> None:
        """Take in that the log ends: what was found by gathers under way stays unknown."""
        for opened in self._open.values():
            for device, moments in opened.left:
                last = moments.removed or opened.start
                lines = tuple(in_flight_listings.between(opened.start, last.file.size))
                if device not in {line.device for line in lines}:
                    self._add(
                        StaleGather(
                            opened.gather, device, moments, is_certain=False, in_flight=lines
                        )
                    )

    def _add(self, stale: StaleGather) -> None:
        if len(self._stale) < STALE_MAX:
            self._stale.append(stale)
        if len(self._stale) <= neighbouring_lines.FINDINGS_MAX and stale.gather.started:
            neighbouring_lines.keep(stale.records, stale.gather.started)

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
