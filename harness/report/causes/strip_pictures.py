"""The picture of a strip: a lane for each claim, fault and thread over time, and the window."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence

from harness.checks import verdicts
from harness.history import records
from harness.report import drawing
from harness.report.causes import explaining


@dataclasses.dataclass(frozen=True, slots=True)
class Window:
    """A stale read, and the write that it missed."""

    read: records.Step
    """The scheduler copied the allocated devices for the second claim."""
    missed: records.Step
    """The device was inserted for the first claim, too late for that read."""
    first_rv: int
    """resourceVersion of the first allocation."""
    second_rv: int

    @property
    def length_ms(self) -> float:
        """Its length in milliseconds."""
        return (self.missed.ts_ns - self.read.ts_ns) / 1e6

    @property
    def text(self) -> str:
        """The window as text."""
        return (
            f"The window was {self.length_ms:,.3f} ms long: from the stale read "
            f"({self.read.name}) to the write that it missed ({self.missed.name}). The second "
            f"allocation was committed as resourceVersion {self.second_rv}, "
            f"{self.second_rv - self.first_rv:,} after the first one, {self.first_rv}."
        )


def find(violation: verdicts.DoubleAllocation, steps: Sequence[records.Step]) -> Window | None:
    """Return the window; None if the steps show no stale read, or no write that it missed."""
    if not steps:
        return None
    moments = explaining.find(violation, steps)
    by_seq = {step.seq: step for step in steps}
    read = by_seq.get(moments.cloned) if moments.cloned is not None else None
    missed = by_seq.get(moments.inserted) if moments.inserted is not None else None
    if read is None or missed is None or missed.ts_ns < read.ts_ns:
        return None
    first, second = violation.holders
    return Window(read, missed, first.held_from_rv, second.held_from_rv)


EFFECTS_MAX = 6
"""Effects of faults shown."""
_LANE, _BAR = 40.0, 18.0
_MARGIN_NS = 500_000
_CROWDED = 9.0
"""Steps closer than this, in percent, share one label."""
About = Callable[[records.Step, dict[str, str]], str]


class _Strip:
    """Draws lanes from top to bottom on one scale of milliseconds."""

    def __init__(self, scale: drawing.Scale, origin: int) -> None:
        self.scale = scale
        self._origin = origin
        self.body: list[str] = []
        self.labels: list[str] = []
        self.y = 0.0

    def x(self, ts_ns: int) -> float:
        return self.scale((ts_ns - self._origin) / 1e6)

    def lane(self, name: str) -> float:
        """Begin a lane and return the top of its bar."""
        self.labels.append(drawing.label(0, self.y + 12, name, kind="lane"))
        top = self.y + 16
        self.y += _LANE
        return top


def draw(
    violation: verdicts.DoubleAllocation,
    steps: Sequence[records.Step],
    *,
    origin: int,
    window: Window | None,
    about: About,
) -> str:
    """Return the picture; `origin` is the time that counts as 0 ms, `about` words a step."""
    times = [step.ts_ns for step in steps] + [item.allocated_ts_ns for item in violation.holders]
    if window is not None:
        times += [window.read.ts_ns, window.missed.ts_ns]
    margin_ns = max(_MARGIN_NS, (max(times) - min(times)) // 20)
    low, high = (min(times) - margin_ns - origin) / 1e6, (max(times) + margin_ns - origin) / 1e6
    strip = _Strip(drawing.Scale(low, high), origin)
    _holds(strip, violation)
    for effect in violation.faults[:EFFECTS_MAX]:
        _effect(strip, effect)
    _threads(strip, violation, steps, about)
    shade = _window(strip, window) if window is not None else []
    axis = drawing.time_axis(strip.scale, y=strip.y, unit="ms")
    words = [violation.text, violation.attribution, window.text if window else ""]
    return drawing.svg(
        [*shade, *strip.body, *axis, *strip.labels],
        height=strip.y + 22,
        title=f"{violation.device} in two claims at once",
        description=" ".join(filter(None, words)),
        over=strip.scale,
    )


def _window(strip: _Strip, window: Window) -> list[str]:
    """Shade the time from the stale read to the write that it missed, below everything else."""
    left, right = strip.x(window.read.ts_ns), strip.x(window.missed.ts_ns)
    text = f"stale for {window.length_ms:,.3f} ms"
    x, anchor = (left, "start") if left < 60 else (right, "end")
    strip.labels.append(drawing.label(x, strip.y + 10, text, kind="small", anchor=anchor))
    strip.y += 14
    return [drawing.rect(left, 0, right - left, strip.y, kind="window", title=window.text)]


def _holds(strip: _Strip, violation: verdicts.DoubleAllocation) -> None:
    first = strip.y
    for index, (holder, letter) in enumerate(zip(violation.holders, "AB", strict=True)):
        name = f"claim {letter} holds it from resourceVersion {holder.held_from_rv}"
        y = strip.lane(name)
        start, end = strip.x(holder.allocated_ts_ns), _end(strip, holder)
        what = f"claim {letter}: {holder.name}, from resourceVersion {holder.held_from_rv}"
        strip.body.append(
            drawing.rect(start, y, end - start, _BAR, kind=f"hold{index}", title=what)
        )
    overlap = strip.x(violation.holders[1].allocated_ts_ns)
    end = min(_end(strip, holder) for holder in violation.holders)
    height = strip.y - first - 20
    strip.body.append(
        drawing.rect(
            overlap, first + 14, end - overlap, height, kind="overlap", title="both hold the device"
        )
    )


def _end(strip: _Strip, holder: verdicts.Holder) -> float:
    return strip.scale.right if holder.released_ts_ns is None else strip.x(holder.released_ts_ns)


def _effect(strip: _Strip, effect: verdicts.FaultEffect) -> None:
    """Draw a lane for an effect of a fault, from its beginning to its end."""
    y = strip.lane(drawing.shortened(f"fault {effect.fault}"))
    left = strip.x(effect.begun_ns)
    right = strip.scale.right if effect.ended_ns is None else strip.x(effect.ended_ns)
    strip.body.append(drawing.line(0, y + 8, drawing.WIDTH, y + 8, kind="grid"))
    width = max(right - left, 0.4)
    strip.body.append(drawing.rect(left, y, width, 16, kind="fault-mark", title=effect.text))


def _threads(
    strip: _Strip,
    violation: verdicts.DoubleAllocation,
    steps: Sequence[records.Step],
    about: About,
) -> None:
    """Draw a line for each thread and a numbered dot for each of its steps."""
    letters = {holder.uid: name for holder, name in zip(violation.holders, "AB", strict=True)}
    for thread in dict.fromkeys(step.thread for step in steps):
        y = strip.lane(drawing.shortened(thread)) + 15
        strip.body.append(drawing.line(0, y, drawing.WIDTH, y, kind="grid"))
        mine = [item for item in enumerate(steps, start=1) if item[1].thread == thread]
        marks = [(number, strip.x(step.ts_ns)) for number, step in mine]
        for (number, step), (_, x) in zip(mine, marks, strict=True):
            owner = letters.get(str(step.fields.get("claim")), "")
            title = f"{number}. {step.name} {about(step, letters)}"
            strip.body.append(drawing.dot(x, y, kind=f"step{owner}", title=title))
        strip.body += [
            drawing.label(x, y - 7, numbers, kind="tick", anchor=_anchor(x))
            for numbers, x in _numbers(marks)
        ]


def _anchor(x: float) -> str:
    """Return how a label is placed so that it does not leave the picture."""
    return "end" if x > 97 else "start" if x < 3 else "middle"


def _numbers(marks: Sequence[tuple[int, float]]) -> Iterator[tuple[str, float]]:
    """Yield (label, x), with one label such as `12-16` for steps that are close together."""
    group: list[tuple[int, float]] = []
    for mark in [*marks, (0, float("inf"))]:
        if group and mark[1] - group[-1][1] > _CROWDED:
            first, last = group[0][0], group[-1][0]
            text = f"{first}" if first == last else f"{first}-{last}"
            yield text, (group[0][1] + group[-1][1]) / 2
            group = []
        group.append(mark)
