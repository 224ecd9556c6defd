"""Puts the lines of several files in order of time, and tells which belong to one process.

Rotated parts of a log may overlap: a line that two of them have counts once.
"""

import collections
import heapq
import itertools
import pathlib
import re
from collections.abc import Iterator, Sequence

from harness.log_analysis import record_search, text_blocks
from harness.log_analysis.log_records import LogRecord

RECENT_MAX = 10_000
"""Lines among which duplicates are looked for."""
_VARYING = re.compile(r"\.(?:gz|xz|zst|log|json|txt)\b|[\d._-]+|part", re.I)
"""The part of a name in which parts of a log differ."""


class _Log:
    """Files that are parts of the log of one scheduler."""

    def __init__(self, stem: str) -> None:
        self.stem = stem
        self.open_files = 0
        self._recent: collections.OrderedDict[bytes, text_blocks.LogText] = (
            collections.OrderedDict()
        )

    def has_recent(self, record: LogRecord) -> bool:
        """Return whether another file of this log had this line just before."""
        return self._recent.get(record.text, record.file) is not record.file

    def remember(self, record: LogRecord) -> None:
        self._recent[record.text] = record.file
        if len(self._recent) > RECENT_MAX:
            self._recent.popitem(last=False)


def merged(files: Sequence[text_blocks.LogText]) -> Iterator[tuple[int, LogRecord]]:
    """Yield the lines of all files in order, each with the number of its log, from 0.

    A file continues a log if that has ended, or has the same line, or a name that differs in
    numbers only.
    """
    if len(files) == 1:
        yield from zip(itertools.repeat(0), record_search.records(files[0]), strict=False)
        return
    logs: list[_Log] = []
    chosen: dict[text_blocks.LogText, _Log] = {}
    sources = [_by_time(file, index) for index, file in enumerate(files)]
    for _, index, record in heapq.merge(*sources, key=lambda entry: entry[:2]):
        file = files[index]
        if record is None:
            if file in chosen:
                chosen[file].open_files -= 1
            continue
        if file not in chosen:
            chosen[file] = _log_of(record, logs)
            chosen[file].open_files += 1
        log = chosen[file]
        if not log.has_recent(record):
            log.remember(record)
            yield logs.index(log), record


def _by_time(file: text_blocks.LogText, index: int) -> Iterator[tuple[int, int, LogRecord | None]]:
    """Yield the lines of a file with times that never go back, and None at its end."""
    latest = 0
    for record in record_search.records(file):
        latest = max(latest, record.time_us)
        yield latest, index, record
    yield latest, index, None


def _log_of(record: LogRecord, logs: list[_Log]) -> _Log:
    """Return the log that a file continues, given its first line; a new one if it is none."""
    stem = _stem(record.file.name)
    for log in logs:
        if log.open_files == 0 or log.stem == stem or log.has_recent(record):
            return log
    logs.append(_Log(stem))
    return logs[-1]


def _stem(name: str) -> str:
    path = pathlib.PurePath(name)
    return str(path.with_name(_VARYING.sub("", path.name) or "log")) if path.name else name
