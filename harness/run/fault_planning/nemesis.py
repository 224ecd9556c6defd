"""Draws faults for a nemesis: at random from the run's seed, only such as can work in the run."""

import dataclasses
import random
from collections.abc import Callable, Mapping
from typing import Any

from harness import errors, suggestions
from harness.run.fault_planning import fault_conflicts, refusals
from harness.scenario import fault_specs, scenario_faults

TRIES_PER_DRAW = 50
"""Times that a draw is repeated because the run does not allow it; then it is an error."""
_LAST_S = (0.5, 4.0)
"""Shortest and longest time that a drawn fault of traffic is on, in seconds."""
_LAG_S = (0.1, 1.5)
"""Shortest and longest delay, in seconds."""
_PAUSE_S = (0.5, 3.0)
"""Shortest and longest time that a process is down or stands still, in seconds."""
_WRITES: tuple[dict[str, Any], ...] = (
    {"resource": "resourceclaims", "subresource": "status", "verbs": ["update"]},
    {"resource": "pods", "subresource": "binding", "verbs": ["create"]},
    {"role": "claim-controller", "resource": "resourceclaims"},
    {"role": "kubelet", "resource": "pods", "subresource": "status"},
)
_LISTS: tuple[dict[str, Any], ...] = (
    {"resource": "resourceclaims", "verbs": ["list"]},
    {"resource": "resourceslices", "verbs": ["list"]},
    {"role": "claim-controller", "resource": "pods", "verbs": ["list"]},
)
_WATCHES: tuple[dict[str, Any], ...] = (
    {"resource": "resourceclaims"},
    {"resource": "pods"},
    {"role": "claim-controller", "resource": "pods"},
    {"role": "claim-controller", "resource": "resourceclaims"},
    {"role": "kubelet", "resource": "pods"},
)
_PROCESSES = ("scheduler", "claim-controller", "kubelet")
Keys = dict[str, Any]
"""Keys of a fault, as in a scenario file."""


def _calls(dice: random.Random) -> Keys:
    return {
        "on": dice.choice(_WRITES),
        "times": dice.randint(1, 20),
        "duration_s": _between(dice, _LAST_S),
    }


def _delayed_calls(dice: random.Random) -> Keys:
    return {**_calls(dice), "seconds": _between(dice, _LAG_S)}


def _rejected_calls(dice: random.Random) -> Keys:
    code = dice.choice((409, 429, 500, 503, 504))
    after = {"retry_after_s": 1} if code == 429 else {}
    return {**_calls(dice), "code": code, **after}


def _old_lists(dice: random.Random) -> Keys:
    return {
        "on": dice.choice(_LISTS),
        "seconds": _between(dice, _PAUSE_S),
        "duration_s": _between(dice, _LAST_S),
    }


def _watches(dice: random.Random) -> Keys:
    return {"on": dice.choice(_WATCHES), "duration_s": _between(dice, _LAST_S)}


def _delayed_events(dice: random.Random) -> Keys:
    return {**_watches(dice), "seconds": _between(dice, _LAG_S)}


def _ended_watches(dice: random.Random) -> Keys:
    return {**_watches(dice), "times": dice.randint(1, 3), "skip": dice.randint(0, 20)}


def _touches(dice: random.Random) -> Keys:
    return {
        "resource": dice.choice(("resourceclaims", "pods", "nodes")),
        "rate_per_s": dice.choice((20.0, 50.0, 100.0)),
        "duration_s": _between(dice, _LAST_S),
    }


def _downtimes(dice: random.Random) -> Keys:
    return {"role": dice.choice(_PROCESSES), "down_s": _between(dice, _LAG_S)}


def _pauses(dice: random.Random) -> Keys:
    return {"role": dice.choice(_PROCESSES), "seconds": _between(dice, _PAUSE_S)}


def _api_server(dice: random.Random) -> Keys:
    return {"kill": dice.random() < 0.5, "down_s": _between(dice, _LAG_S)}


def _take_overs(dice: random.Random) -> Keys:
    return {"ends": dice.choice(("kill", "terminate"))}


DRAWS: Mapping[str, Callable[[random.Random], Keys]] = {
    "lose-request": _calls,
    "lose-response": _calls,
    "delay-request": _delayed_calls,
    "delay-response": _delayed_calls,
    "reject": _rejected_calls,
    "truncate-response": _calls,
    "stale-list": _old_lists,
    "delay-events": _delayed_events,
    "drop-watch": _ended_watches,
    "expire-watch": _ended_watches,
    "starve-bookmarks": _watches,
    "touch-objects": _touches,
    "restart-api-server": _api_server,
    "kill-process": _downtimes,
    "restart-process": _downtimes,
    "pause-process": _pauses,
    "take-over": _take_overs,
}
"""The kinds that can be drawn, each with a function that draws its keys.

Claims are not moved to other devices: that competes with the scheduler for free ones.
"""


def draw(
    name: str, spec: fault_specs.Nemesis, run: refusals.Circumstances, dice: random.Random
) -> list[refusals.NamedFault]:
    """Return the faults that a nemesis of this name injects.

    If the nemesis is required, at least one of them has to take effect: which calls happen in the
    time of each is chance.

    Raises UsageError for an unknown kind, or if the run allows too few of the kinds.
    """
    kinds = _kinds(name, spec)
    drawn: list[refusals.NamedFault] = []
    for number in range(1, spec.draws + 1):
        found = _draw_one(f"{name}-{number}", spec, kinds, run, dice, drawn)
        drawn.append(dataclasses.replace(found, drawn_by=name))
    return drawn


def _kinds(name: str, spec: fault_specs.Nemesis) -> list[str]:
    for kind in spec.kinds:
        if kind not in DRAWS:
            near = suggestions.did_you_mean(kind, DRAWS)
            raise errors.UsageError(
                f"fault {name}: expected kinds among {', '.join(DRAWS)}, got {kind!r}.{near}"
            )
    return list(spec.kinds or DRAWS)


def _draw_one(
    name: str,
    spec: fault_specs.Nemesis,
    kinds: list[str],
    run: refusals.Circumstances,
    dice: random.Random,
    drawn: list[refusals.NamedFault],
) -> refusals.NamedFault:
    """Return a fault that can work in the run beside those that are drawn already."""
    why = ""
    for _ in range(TRIES_PER_DRAW):
        kind = dice.choice(kinds)
        start_s = spec.start_s + _between(dice, (0.0, spec.within_s))
        keys = {"kind": kind, "start_s": start_s, "required": spec.required, **DRAWS[kind](dice)}
        candidate = refusals.NamedFault(name=f"{name}-{kind}", spec=_spec(keys, spec))
        why = fault_conflicts.why_not([*drawn, candidate], run)
        if not why:
            return candidate
    raise errors.UsageError(
        f"fault {name}: expected kinds that this run allows, got {', '.join(kinds)}; the last draw "
        f"was refused ({why}): name others in `kinds`, draw fewer, or make within_s shorter"
    )


def _spec(keys: Keys, nemesis: fault_specs.Nemesis) -> refusals.AnySpec:
    if nemesis.start_after is not None:
        keys["start_after"] = nemesis.start_after
    spec = scenario_faults.one(keys)
    if isinstance(spec, fault_specs.Nemesis):
        raise TypeError("a nemesis draws no other one")
    return spec


def _between(dice: random.Random, bounds: tuple[float, float]) -> float:
    return round(dice.uniform(*bounds), 2)
