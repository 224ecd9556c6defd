"""The strip of a double allocation: both claims and the scheduler's steps over time, explained."""

import dataclasses
from collections.abc import Mapping, Sequence

from harness.checks import verdicts
from harness.history import records
from harness.report.causes import explaining, step_sentences, strip_pictures

STEPS_MAX = 60
"""Steps shown."""
CHOSEN = "the scheduler chose the device for claim B"
COMMITTED = "the allocation of claim B was committed"
"""The meaning of time zero without steps of the scheduler: when it chose is not known."""


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
    window: strip_pictures.Window | None
    """None: no stale read is known."""
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
) -> Strip:
    """Draw and explain a double allocation.

    `steps` in order, empty if none were recorded; `names` of pods and other claims by uid.
    """
    origin = time_zero(violation, steps)
    shown = _window(violation, steps)
    letters = {holder.uid: name for holder, name in zip(violation.holders, "AB", strict=True)}
    rows = [
        StepRow(
            index,
            f"{(step.ts_ns - origin) / 1e6:+.2f}",
            step.thread,
            step.name,
            about(step, letters),
        )
        for index, step in enumerate(shown[:STEPS_MAX], start=1)
    ]
    window = strip_pictures.find(violation, steps)
    lettered = {uid: f"claim {letter}" for uid, letter in letters.items()}
    return Strip(
        picture=strip_pictures.draw(
            violation, shown[:STEPS_MAX], origin=origin, window=window, about=about
        ),
        explanation=explaining.explain(violation, steps),
        steps=rows,
        steps_left_out=max(len(shown) - STEPS_MAX, 0),
        window=window,
        story=step_sentences.tell(shown[:STEPS_MAX], {**names, **lettered}, origin_ns=origin),
        zero_ns=origin,
        zero_meaning=CHOSEN if _choice(violation, steps) else COMMITTED,
    )


def time_zero(violation: verdicts.DoubleAllocation, steps: Sequence[records.Step]) -> int:
    """Return time zero: the scheduler chooses the device for the second claim.

    Without that step, the time at which the recorder saw the allocation.
    """
    step = _choice(violation, steps)
    return step.ts_ns if step else violation.holders[1].allocated_ts_ns


def _choice(
    violation: verdicts.DoubleAllocation, steps: Sequence[records.Step]
) -> records.Step | None:
    """Return the last step in which the device was chosen for the second claim; None: unknown."""
    wanted = {"claim": violation.holders[1].uid, "device": violation.device}
    found = (
        step
        for step in reversed(steps)
        if step.name == "in-flight.added" and wanted.items() <= step.fields.items()
    )
    return next(found, None)


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
    """Return the fields of a step as text; `names` has the letters of claims, by uid."""
    parts = []
    for key, value in step.fields.items():
        short = str(value).rpartition("/")[2] if key == "device" else value
        parts.append(
            f"claim {names.get(str(value), value)}" if key == "claim" else f"{key} {short}"
        )
    return ", ".join(parts)
