"""The lines of the schedulers' logs that name the claims, pods or device of a violation."""

import dataclasses
import pathlib
import re
from collections.abc import Sequence

from harness import regular_files
from harness.history import directories
from harness.reproduction.issue import involved_objects

LINES_MAX = 120
"""Lines that are kept of one log: the first half and the last half of them."""
LINE_MAX = 400
"""Characters that are kept of one line."""
BYTES_MAX = 256 * 2**20
"""Bytes that are read of one log."""
_LOGS = "scheduler*.log"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LogExcerpt:
    """Lines of one log."""

    name: str
    """Name of the log's process."""
    lines: Sequence[str]
    left_out: int
    """Number of further lines with such a name."""


def of_schedulers(
    directory: directories.RunDirectory, involved: involved_objects.Involved
) -> list[LogExcerpt]:
    """Return an excerpt for each scheduler's log in which something is found."""
    pattern = involved.pattern()
    excerpts = [_excerpt(path, pattern) for path in sorted(directory.logs.glob(_LOGS))]
    return [excerpt for excerpt in excerpts if excerpt.lines]


def _excerpt(path: pathlib.Path, pattern: re.Pattern[str]) -> LogExcerpt:
    found = [_shortened(line) for line in _lines(path) if pattern.search(line)]
    if len(found) <= LINES_MAX:
        return LogExcerpt(name=path.stem, lines=found, left_out=0)
    half = LINES_MAX // 2
    kept = [*found[:half], "…", *found[-half:]]
    return LogExcerpt(name=path.stem, lines=kept, left_out=len(found) - 2 * half)


def _lines(path: pathlib.Path) -> list[str]:
    with regular_files.opened(path) as file:
        return file.read(BYTES_MAX).decode(errors="replace").splitlines()


def _shortened(line: str) -> str:
    return line if len(line) <= LINE_MAX else f"{line[: LINE_MAX - 1]}…"
