"""Keeps the raw lines around the lines of a finding, while their text is still at hand."""

from collections.abc import Callable, Iterable

from harness.log_analysis.log_records import LogRecord, Neighbours

LINES = 2
"""Lines before a line, and after it."""
BYTES_MAX = 400
"""Longest line that is kept whole, in bytes."""
FINDINGS_MAX = 200
"""Findings of a scheduler whose neighbouring lines are kept."""
_REACH = 8_192
"""Bytes before the begin of a line, and after it, that are looked at."""


def keep(records: Callable[[], Iterable[LogRecord]], last: LogRecord) -> None:
    """Keep what is around the lines that `records()` yields now, and once more some time later.

    `last` is the latest of them; lines that are about the same claims may follow it.
    """

    def collect() -> None:
        for record in records():
            if record.neighbours is None or len(record.neighbours.after) < LINES:
                record.neighbours = _around(record) or record.neighbours

    collect()
    last.file.call_later(collect)


def _around(record: LogRecord) -> Neighbours | None:
    """Return the lines around a line; None if its text is not kept any more."""
    file, offset = record.file, record.offset
    if offset < file.kept_from:
        return None
    before = file.text(max(offset - _REACH, 0), offset).split(b"\n")[:-1]
    after = file.text(offset, offset + _REACH).split(b"\n")[1 : LINES + 1]
    return Neighbours(
        tuple(map(_shortened, before[-LINES:])),
        tuple(_shortened(line) for line in after if line),
    )


def _shortened(line: bytes) -> bytes:
    return line[:BYTES_MAX].rstrip(b"\r")
