"""Finds the sentence with which a program ended: its panic, its exception, or its last line."""

import pathlib
import re

from harness import errors
from harness.history import files, zstd_frames

_READ_MAX = 4 * 2**20
"""Bytes of the end of a log that are searched: Go writes the stacks of all goroutines behind a
panic."""
_UNPACKED_MAX = 2**30
"""Bytes of a compressed log that are read to come to its end."""
_LENGTH_MAX = 300
_ENDS = (
    re.compile(r"^(?:panic: |fatal error: |thread '.*' panicked at |F\d{4} \d\d:).*$", re.M),
    re.compile(r'^.{0,200}"Observed a panic".*$', re.M),
    re.compile(r"^Traceback \(most recent call last\):\n(?:(?:[ \t].*)?\n)*(\S.*)$", re.M),
    re.compile(r"^(Exception in thread .*)$", re.M),
)
"""Go, also through klog; Rust; Go's HandleCrash; Python; Java."""


def of_log(log: pathlib.Path, *, or_last_line: bool) -> str:
    """Return the last panic, fatal error or exception in a log, in one line.

    `or_last_line`: without one, the last line. Empty if there is none, or if the log cannot be
    read.
    """
    text = _end(log).replace("\r\n", "\n")
    found = [match for pattern in _ENDS for match in [*pattern.finditer(text)][-1:]]
    if found:
        last = max(found, key=re.Match[str].end)
        return _shortened(last[last.lastindex or 0])
    lines = text.split("\n") if or_last_line else []
    return _shortened(next((line for line in reversed(lines) if line.strip()), ""))


def _end(log: pathlib.Path) -> str:
    try:
        with files.open_regular(log) as file:
            if log.suffix != zstd_frames.SUFFIX:
                file.seek(max(files.size(log) - _READ_MAX, 0))
                return file.read(_READ_MAX).decode(errors="replace")
            content = zstd_frames.decompressing(file)
            end, size = b"", 0
            while (part := content.read(_READ_MAX)) and size < _UNPACKED_MAX:
                end, size = (end + part)[-_READ_MAX:], size + len(part)
            return end.decode(errors="replace")
    except (errors.HistoryError, OSError, EOFError):
        return ""


def _shortened(line: str) -> str:
    words = " ".join(line.split())
    return words if len(words) <= _LENGTH_MAX else f"{words[:_LENGTH_MAX]}…"
