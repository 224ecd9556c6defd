"""The lines of a log about a double allocation, with what each of them means."""

import dataclasses
from collections.abc import Iterable, Iterator

from harness.log_analysis import double_allocations
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


def of_lines(records: Iterable[LogRecord]) -> list[Line]:
    return [_line(record, "") for record in records]


def of_told(entries: double_allocations.Told) -> list[Line]:
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


def _shortened(line: bytes, length: int) -> str:
    text = line.decode(errors="replace").rstrip("\r")
    return text if len(text) <= length else f"{text[:length]}…"
