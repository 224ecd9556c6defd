"""The strip of a double allocation: both claims and the scheduler's steps over time, explained."""

import dataclasses
from collections.abc import Iterator, Sequence

from harness.checks import verdicts
from harness.history import records
from harness.report import drawing, explaining

_LANE = 34.0
_LEFT = 190.0
_MARGIN_NS = 500_000
STEPS_MAX = 60
"""Steps shown."""
EFFECTS_MAX = 6
"""Effects of faults shown in the picture."""
_CROWDED = 18.0
"""Steps closer than this, in SVG units, share one label."""


@dataclasses.dataclass(frozen=True, slots=True)
class StepRow:
    """A step as a table row; `number` counts from 1, `ms` is relative to time zero."""

    number: int
    ms: str
    thread: str
    name: str
    about: str


@dataclasses.dataclass(frozen=True, slots=True)
class Strip:
    """The picture, explanation and steps of a double allocation."""

    picture: str
    explanation: str
    steps: list[StepRow]
    steps_left_out: int


def strip(violation: verdicts.DoubleAllocation, steps: Sequence[records.Step]) -> Strip:
    """Draw and explain a double allocation; `steps` in order, empty if none were recorded."""
    origin = time_zero(violation, steps)
    shown = _window(violation, steps)
    names = {holder.uid: name for holder, name in zip(violation.holders, "AB", strict=True)}
    rows = [
        StepRow(
            index,
            f"{(step.ts_ns - origin) / 1e6:+.2f}",
            step.thread,
            step.name,
            about(step, names),
        )
        for index, step in enumerate(shown[:STEPS_MAX], start=1)
    ]
    return Strip(
        picture=_picture(violation, shown[:STEPS_MAX], origin, names),
        explanation=explaining.explain(violation, steps),
        steps=rows,
        steps_left_out=max(len(shown) - STEPS_MAX, 0),
    )


def time_zero(violation: verdicts.DoubleAllocation, steps: Sequence[records.Step]) -> int:
    """Return time zero: the scheduler chooses the device for the second claim.

    Without that step, the time at which the recorder saw the allocation.
    """
    second = violation.holders[1]
    wanted = {"claim": second.uid, "device": violation.device}
    for step in reversed(steps):
        if step.name == "in-flight.added" and wanted.items() <= step.fields.items():
            return step.ts_ns
    return second.allocated_ts_ns


def _window(
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


def about(step: records.Step, names: dict[str, str]) -> str:
    """Return the fields of a step in words; `names` has the letters of claims, by uid."""
    parts = []
    for key, value in step.fields.items():
        short = str(value).rpartition("/")[2] if key == "device" else value
        parts.append(
            f"claim {names.get(str(value), value)}" if key == "claim" else f"{key} {short}"
        )
    return ", ".join(parts)


def _picture(
    violation: verdicts.DoubleAllocation,
    steps: Sequence[records.Step],
    origin: int,
    names: dict[str, str],
) -> str:
    threads = list(dict.fromkeys(step.thread for step in steps))
    times = [step.ts_ns for step in steps] + [item.allocated_ts_ns for item in violation.holders]
    scale = drawing.Scale(
        (min(times) - _MARGIN_NS - origin) / 1e6,
        (max(times) + _MARGIN_NS - origin) / 1e6,
        left=_LEFT,
        right=drawing.WIDTH - 12.0,
    )
    effects = violation.faults[:EFFECTS_MAX]
    body = _holds(violation, scale, origin)
    body += _effects(effects, scale, origin)
    top = _LANE * (2 + len(effects)) + 20
    body += _threads(threads, steps, scale, origin, names, top=top)
    bottom = top + _LANE * len(threads) + 6
    body += drawing.time_axis(scale, y=bottom, unit="ms")
    title = f"{violation.device} in two claims at once"
    description = f"{violation.text} {violation.attribution}".strip()
    return drawing.svg(body, height=bottom + 24, title=title, description=description)


def _holds(violation: verdicts.DoubleAllocation, scale: drawing.Scale, origin: int) -> list[str]:
    body: list[str] = []
    for index, (holder, name) in enumerate(zip(violation.holders, "AB", strict=True)):
        y = 8 + index * _LANE
        start = scale((holder.allocated_ts_ns - origin) / 1e6)
        end = _end(holder, scale, origin)
        what = f"claim {name}: {holder.name}, from resourceVersion {holder.held_from_rv}"
        body.append(drawing.label(0, y + 15, f"claim {name} holds it", kind="lane"))
        body.append(
            drawing.rect(start, y, end - start, _LANE - 14, kind=f"hold{index}", title=what)
        )
    overlap = scale((violation.holders[1].allocated_ts_ns - origin) / 1e6)
    end = min(_end(holder, scale, origin) for holder in violation.holders)
    body.append(
        drawing.rect(
            overlap, 4, end - overlap, 2 * _LANE - 8, kind="overlap", title="both hold the device"
        )
    )
    for index, holder in enumerate(violation.holders):
        start = scale((holder.allocated_ts_ns - origin) / 1e6)
        text = f"rv {holder.held_from_rv}"
        body.append(drawing.label(start - 6, 23 + index * _LANE, text, kind="tick", anchor="end"))
    return body


def _end(holder: verdicts.Holder, scale: drawing.Scale, origin: int) -> float:
    if holder.released_ts_ns is None:
        return scale.right
    return scale((holder.released_ts_ns - origin) / 1e6)


def _effects(
    effects: Sequence[verdicts.FaultEffect], scale: drawing.Scale, origin: int
) -> list[str]:
    """Draw a lane for each effect of a fault, from its beginning to its end."""
    body: list[str] = []
    for index, effect in enumerate(effects):
        y = (2 + index) * _LANE + 8
        left = scale((effect.begun_ns - origin) / 1e6)
        right = scale.right
        if effect.ended_ns is not None:
            right = scale((effect.ended_ns - origin) / 1e6)
        short = drawing.shortened(f"fault {effect.fault}")
        body.append(drawing.label(0, y + 12, short, kind="lane"))
        body.append(drawing.line(scale.left, y + 8, scale.right, y + 8, kind="grid"))
        width = max(right - left, 3.0)
        body.append(drawing.rect(left, y, width, 16, kind="fault-mark", title=effect.text))
    return body


def _threads(
    threads: Sequence[str],
    steps: Sequence[records.Step],
    scale: drawing.Scale,
    origin: int,
    names: dict[str, str],
    *,
    top: float,
) -> list[str]:
    """Draw a line for each thread and a numbered dot for each step, from `top` downwards."""
    body: list[str] = []
    for index, thread in enumerate(threads):
        y = top + index * _LANE
        body.append(drawing.label(0, y + 4, drawing.shortened(thread), kind="lane"))
        body.append(drawing.line(scale.left, y, scale.right, y, kind="grid"))
        mine = [
            (number, step) for number, step in enumerate(steps, start=1) if step.thread == thread
        ]
        marks = [(number, scale((step.ts_ns - origin) / 1e6)) for number, step in mine]
        for (number, step), (_, x) in zip(mine, marks, strict=True):
            owner = names.get(str(step.fields.get("claim")), "")
            title = f"{number}. {step.name} {about(step, names)}"
            body.append(drawing.dot(x, y, kind=f"step{owner}", title=title))
        body += [
            drawing.label(x, y - 8, numbers, kind="tick", anchor="middle")
            for numbers, x in _labels(marks)
        ]
    return body


def _labels(marks: Sequence[tuple[int, float]]) -> Iterator[tuple[str, float]]:
    """Yield (label, x), with one label such as `12-16` for steps that are close together."""
    group: list[tuple[int, float]] = []
    for mark in [*marks, (0, float("inf"))]:
        if group and mark[1] - group[-1][1] > _CROWDED:
            first, last = group[0][0], group[-1][0]
            yield (
                f"{first}" if first == last else f"{first}-{last}",
                (group[0][1] + group[-1][1]) / 2,
            )
            group = []
        group.append(mark)
