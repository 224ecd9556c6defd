"""The strip of a double allocation: both claims and the scheduler's steps over time, explained."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from harness.checks import verdicts
from harness.history import records
from harness.report import drawing
from harness.report.causes import explaining, held_threads, step_sentences

STEPS_MAX = 60
"""Steps shown."""
CHOSEN = "the scheduler chose the device for claim B"
COMMITTED = "the allocation of claim B was committed"
"""The meaning of time zero without steps of the scheduler: when it chose is not known."""


class Strip(NamedTuple):
    """The picture, explanation and steps of a double allocation."""

    picture: str
    why: str
    """The stale read, and how long its window was."""
    steps: list[dict[str, object]]
    """The steps as rows of a table: `number` counts from 1, `ms` from time zero."""
    steps_left_out: int
    story: list[tuple[int, str]]
    """The deciding steps: the number of each among `steps`, and a sentence."""
    zero_ns: int
    """The time that counts as 0."""
    zero_meaning: str
    """The event of that time, as a sentence."""


def strip(
    violation: verdicts.DoubleAllocation,
    steps: Sequence[records.Step],
    names: Mapping[str, str] = {},
    held: Sequence[held_threads.HeldThread] = (),
) -> Strip:
    """Draw and explain a double allocation.

    `steps` in order, empty if none were recorded; `names` of pods and other claims by uid; `held`
    are all threads that the run held.
    """
    origin, around = time_zero(violation, steps), _around(violation, steps)
    shown, window = around[:STEPS_MAX], explaining.window(violation, steps)
    letters = _letters(violation)
    lettered = {uid: f"claim {letter}" for uid, letter in letters.items()}
    explanation = explaining.explain(violation, steps)
    return Strip(
        picture=_picture(violation, shown, origin, window, _held_then(held, violation, origin)),
        why=f"{explanation} {window.text}" if window else explanation,
        steps=[
            {
                "number": number,
                "ms": f"{(step.ts_ns - origin) / 1e6:+.2f}",
                "thread": step.thread,
                "name": step.name,
                "about": _about(step, letters),
            }
            for number, step in enumerate(shown, start=1)
        ],
        steps_left_out=len(around) - len(shown),
        story=step_sentences.tell(shown, {**names, **lettered}, origin_ns=origin),
        zero_ns=origin,
        zero_meaning=CHOSEN if explaining.planned(violation, 1, steps) else COMMITTED,
    )


def _letters(violation: verdicts.DoubleAllocation) -> dict[str, str]:
    return {holder.uid: name for holder, name in zip(violation.holders, "AB", strict=True)}


def time_zero(violation: verdicts.DoubleAllocation, steps: Sequence[records.Step]) -> int:
    """Return time zero: the scheduler chooses the device for the second claim.

    Without that step, the time at which the recorder saw the allocation.
    """
    step = explaining.planned(violation, 1, steps)
    return step.ts_ns if step else violation.holders[1].allocated_ts_ns


def _around(
    violation: verdicts.DoubleAllocation, steps: Sequence[records.Step]
) -> list[records.Step]:
    """Return the steps from shortly before the first allocation to shortly after the second.

    At most 40 ms before time zero.
    """
    first, second = violation.holders
    origin = time_zero(violation, steps)
    begin = max(min(first.allocated_ts_ns, origin) - 15_000_000, origin - 40_000_000)
    end = max(second.allocated_ts_ns, origin) + 10_000_000
    return [step for step in steps if begin <= step.ts_ns <= end]


def _held_then(
    held: Sequence[held_threads.HeldThread], violation: verdicts.DoubleAllocation, origin: int
) -> list[held_threads.HeldThread]:
    begin, end = origin - 100_000_000, max(violation.holders[1].allocated_ts_ns, origin)
    return [item for item in held if begin <= item.begun_ns <= end][-EFFECTS_MAX:]


def _about(step: records.Step, letters: Mapping[str, str]) -> str:
    parts = []
    for key, value in step.fields.items():
        short = str(value).rpartition("/")[2] if key == "device" else value
        parts.append(
            f"claim {letters.get(str(value), value)}" if key == "claim" else f"{key} {short}"
        )
    return ", ".join(parts)


# ------------------------------------------------------------------------------------ the picture

EFFECTS_MAX = 6
"""Effects of faults shown."""
_LANE, _BAR = 40.0, 18.0
_MARGIN_NS = 500_000
_CROWDED = 9.0
"""Steps closer than this, in percent, share one label."""


class _Lanes:
    def __init__(self, times: Sequence[int], origin: int) -> None:
        """Show all `times`, and something before and after them; `origin` counts as 0 ms."""
        margin_ns = max(_MARGIN_NS, (max(times) - min(times)) // 20)
        low, high = min(times) - margin_ns - origin, max(times) + margin_ns - origin
        self.scale = drawing.Scale(low / 1e6, high / 1e6)
        self._origin = origin
        self.body: list[str] = []
        self.labels: list[str] = []
        self.y = 0.0

    def x(self, ts_ns: int | None) -> float:
        end = self.scale.right
        return end if ts_ns is None else self.scale((ts_ns - self._origin) / 1e6)

    def lane(self, name: str) -> float:
        self.labels.append(drawing.label(0, self.y + 12, name, kind="lane"))
        top = self.y + 16
        self.y += _LANE
        return top

    def line(self, y: float) -> None:
        self.body.append(drawing.line(0, y, drawing.WIDTH, y, kind="grid"))


def _picture(
    violation: verdicts.DoubleAllocation,
    steps: Sequence[records.Step],
    origin: int,
    window: explaining.Window | None,
    held: Sequence[held_threads.HeldThread],
) -> str:
    times = [step.ts_ns for step in steps] + [item.allocated_ts_ns for item in violation.holders]
    times += [item.begun_ns for item in held]
    lanes = _Lanes([*times, *([window.read.ts_ns, window.missed.ts_ns] if window else [])], origin)
    _draw_holds(lanes, violation)
    for effect in violation.faults[:EFFECTS_MAX]:
        name = drawing.shortened(f"fault {effect.fault}")
        _draw_interval(lanes, name, (effect.begun_ns, effect.ended_ns), effect.text)
    for item in held:
        _draw_interval(lanes, f"{item.who}, held", (item.begun_ns, item.ended_ns), item.text)
    _draw_threads(lanes, violation, steps)
    shade = _draw_window(lanes, window) if window is not None else []
    words = [violation.text, violation.attribution, window.text if window else ""]
    axis = drawing.time_axis(lanes.scale, y=lanes.y, unit="ms")
    return drawing.svg(
        [*shade, *lanes.body, *axis, *lanes.labels],
        height=lanes.y + 22,
        title=f"{violation.device} in two claims at once",
        description=" ".join(filter(None, words)),
        over=lanes.scale,
    )


def _draw_interval(lanes: _Lanes, name: str, ns: tuple[int, int | None], title: str) -> None:
    y = lanes.lane(name)
    left, right = (lanes.x(end) for end in ns)
    lanes.line(y + 8)
    width = max(right - left, 0.4)
    lanes.body.append(drawing.rect(left, y, width, 16, kind="fault-mark", title=title))


def _draw_window(lanes: _Lanes, window: explaining.Window) -> list[str]:
    left, right = lanes.x(window.read.ts_ns), lanes.x(window.missed.ts_ns)
    text = f"stale for {window.length_ms:,.3f} ms"
    x, anchor = (left, "start") if left < 60 else (right, "end")
    lanes.labels.append(drawing.label(x, lanes.y + 10, text, kind="small", anchor=anchor))
    lanes.y += 14
    return [drawing.rect(left, 0, right - left, lanes.y, kind="window", title=window.text)]


def _draw_holds(lanes: _Lanes, violation: verdicts.DoubleAllocation) -> None:
    for index, (holder, letter) in enumerate(zip(violation.holders, "AB", strict=True)):
        since = f"from resourceVersion {holder.held_from_rv}"
        y = lanes.lane(f"claim {letter} holds it {since}")
        start, end = lanes.x(holder.allocated_ts_ns), lanes.x(holder.released_ts_ns)
        title = f"claim {letter}: {holder.name}, {since}"
        bar = drawing.rect(start, y, end - start, _BAR, kind=f"hold{index}", title=title)
        lanes.body.append(bar)
    left = lanes.x(violation.holders[1].allocated_ts_ns)
    width = min(lanes.x(holder.released_ts_ns) for holder in violation.holders) - left
    title = "both hold the device"
    both = drawing.rect(left, 14, width, lanes.y - 20, kind="overlap", title=title)
    lanes.body.append(both)


def _draw_threads(
    lanes: _Lanes, violation: verdicts.DoubleAllocation, steps: Sequence[records.Step]
) -> None:
    letters = _letters(violation)
    for thread in dict.fromkeys(step.thread for step in steps):
        y = lanes.lane(drawing.shortened(thread)) + 15
        lanes.line(y)
        marks = []
        for number, step in enumerate(steps, start=1):
            if step.thread == thread:
                owner = letters.get(str(step.fields.get("claim")), "")
                title = f"{number}. {step.name} {_about(step, letters)}"
                marks.append((number, lanes.x(step.ts_ns)))
                lanes.body.append(drawing.dot(marks[-1][1], y, kind=f"step{owner}", title=title))
        for numbers, x in _numbers(marks):
            anchor = "end" if x > 97 else "start" if x < 3 else "middle"
            lanes.body.append(drawing.label(x, y - 7, numbers, kind="tick", anchor=anchor))


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
