"""The lines of a log about a double allocation, with what each of them means."""

import dataclasses

from harness.log_analysis import double_allocations

TEXT_MAX = 600
"""Characters of a line that are shown."""


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    """A line of a log."""

    log: str
    number: int
    text: str
    meaning: str
    """The meaning of the line for the double allocation."""


def of_told(entries: double_allocations.Told) -> list[Line]:
    known = list(entries)
    is_one_file = len({record.file.name for record, _ in known}) < 2
    known.sort(key=lambda entry: (0 if is_one_file else entry[0].order, entry[0].number))
    lines = {
        (record.file.name, record.number): Line(
            record.file.name, record.number, _shortened(record.text), meaning
        )
        for record, meaning in known
    }
    return list(lines.values())


def _shortened(line: bytes) -> str:
    text = line.decode(errors="replace").rstrip("\r")
    return text if len(text) <= TEXT_MAX else f"{text[:TEXT_MAX]}…"
