"""The strip of a double allocation as text: a bar for each claim and fault, and the steps."""

import dataclasses
from collections.abc import Iterator, Sequence

from harness.checks import verdicts
from harness.history import records
from harness.report.causes import strip_pictures, strips

COLUMNS = 64
"""Characters of a bar's full length."""
STEPS_MAX = 120
"""Steps that are listed."""
NAME_MAX = 30
"""Characters of a name on the left."""
_MARGIN = 0.05
"""Share of the time before the first beginning and after the last end."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Bar:
    name: str
    sign: str
    begun_ns: int
    ended_ns: int | None
    """None: to the end of the strip."""


def bars(violation: verdicts.DoubleAllocation, zero_ns: int) -> list[str]:
    """Return a line for each claim and each effect of a fault, and one with the times.

    `zero_ns` is the time that counts as 0 ms.
    """
    drawn = list(_bars(violation))
    begin, end = _span(drawn)
    lines = [f"{bar.name[:NAME_MAX]:<{NAME_MAX}} |{_drawn(bar, begin, end)}|" for bar in drawn]
    first, last = f"{(begin - zero_ns) / 1e6:+.1f} ms", f"{(end - zero_ns) / 1e6:+.1f} ms"
    return [*lines, f"{'':<{NAME_MAX}}  {first:<{COLUMNS // 2}}{last:>{COLUMNS // 2}}"]


def steps(
    violation: verdicts.DoubleAllocation, taken: Sequence[records.Step], zero_ns: int
) -> list[str]:
    """Return the scheduler's steps as lines with aligned columns; empty if there are none.

    Of too many, the last ones.
    """
    names = {holder.uid: name for holder, name in zip(violation.holders, "AB", strict=True)}
    rows = [
        (
            str(number),
            f"{(step.ts_ns - zero_ns) / 1e6:+.2f}",
            step.thread,
            step.name,
            strips.about(step, names),
        )
        for number, step in enumerate(taken, start=1)
    ][-STEPS_MAX:]
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        f"{number:>{widths[0]}} {ms:>{widths[1]}} ms  {thread:<{widths[2]}}  {name:<{widths[3]}}  {about}"
        for number, ms, thread, name, about in rows
    ]
    return [line.rstrip() for line in lines]


def _bars(violation: verdicts.DoubleAllocation) -> Iterator[_Bar]:
    for letter, holder in zip("AB", violation.holders, strict=True):
        name = f"{letter} {holder.name} has it"
        yield _Bar(name, "=", holder.allocated_ts_ns, holder.released_ts_ns)
    for effect in violation.faults[: strip_pictures.EFFECTS_MAX]:
        yield _Bar(f"fault {effect.fault}", "#", effect.begun_ns, effect.ended_ns)


def _span(drawn: Sequence[_Bar]) -> tuple[int, int]:
    begins = [bar.begun_ns for bar in drawn]
    ends = [bar.ended_ns for bar in drawn if bar.ended_ns is not None]
    begin, end = min(begins), max([*begins, *ends])
    margin = max(int((end - begin) * _MARGIN), 1)
    return begin - margin, end + margin


def _drawn(bar: _Bar, begin: int, end: int) -> str:
    """Return the bar, at least one character long."""
    scale = (COLUMNS - 1) / (end - begin)
    left = round((bar.begun_ns - begin) * scale)
    right = COLUMNS - 1 if bar.ended_ns is None else round((bar.ended_ns - begin) * scale)
    return f"{' ' * left}{bar.sign * (right - left + 1)}".ljust(COLUMNS)
