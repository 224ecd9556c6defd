"""Draws faults for a nemesis: at random from the run's seed, only such as can work in the run."""

import random
from collections.abc import Callable, Sequence

from harness import errors, suggestions
from harness.scenario import fault_kinds
from harness.scenario.fault_kinds import fault, nemeses

TRIES_PER_DRAW = 50
"""Times that a draw is repeated because the run does not allow it; then it is an error."""
DRAWN = [name for name, kind in fault_kinds.BY_NAME.items() if kind.drawn]
"""The kinds that can be drawn.

Claims are not moved to other devices: that competes with the scheduler for free ones.
"""
Refused = Callable[[Sequence[fault.Fault]], str]
"""Returns why faults cannot work together in the run; empty: they can."""


def draw(
    name: str, spec: nemeses.Nemesis, refused: Refused, dice: random.Random
) -> list[fault.Fault]:
    """Return the faults that a nemesis of this name injects, with names.

    If the nemesis is required, at least one of them has to take effect: which calls happen in the
    time of each is chance.

    Raises UsageError for an unknown kind, or if the run allows too few of the kinds.
    """
    for kind in spec.kinds:
        if kind not in DRAWN:
            near = suggestions.did_you_mean(kind, DRAWN)
            raise errors.UsageError(
                f"fault {name}: expected kinds among {', '.join(DRAWN)}, got {kind!r}.{near}"
            )
    drawn: list[fault.Fault] = []
    for number in range(1, spec.draws + 1):
        drawn.append(_draw_one(name, number, spec, refused, dice, drawn))
    return drawn


def _draw_one(
    name: str,
    number: int,
    spec: nemeses.Nemesis,
    refused: Refused,
    dice: random.Random,
    drawn: list[fault.Fault],
) -> fault.Fault:
    """Return a fault that can work in the run beside those that are drawn already."""
    why, kinds = "", list(spec.kinds or DRAWN)
    for _ in range(TRIES_PER_DRAW):
        kind = dice.choice(kinds)
        start_s = spec.start_s + fault.between(dice, (0.0, spec.within_s))
        keys = {"kind": kind, "start_s": start_s, "required": spec.required}
        keys |= fault_kinds.of(kind).draw(dice)
        if spec.start_after is not None:
            keys["start_after"] = spec.start_after
        one = fault_kinds.one(keys).model_copy(update={"name": f"{name}-{number}-{kind}"})
        why = refused([*drawn, one])
        if not why:
            return one
    raise errors.UsageError(
        f"fault {name}: expected kinds that this run allows, got {', '.join(kinds)}; the last draw "
        f"was refused ({why}): name others in `kinds`, draw fewer, or make within_s shorter"
    )
