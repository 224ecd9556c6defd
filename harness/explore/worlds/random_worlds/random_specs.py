"""The specs of random worlds, by name."""

import functools
import re
from collections.abc import Sequence

from harness import errors
from harness.explore.worlds import chosen_parts, parts, world, world_specs
from harness.explore.worlds.lifecycles import node_preparations
from harness.explore.worlds.oracles import granted_devices, preparations, reservations
from harness.explore.worlds.random_worlds import known_hazards, pod_drawing, world_drawing

NAME = re.compile(r"random-(0|[1-9][0-9]{0,18})")
_LEAST = {"binders": 1, "threads": 1, "pods": 2}
_EXCLUDED = {("allocation-without-finalizer", "keep-in-flight-until-known")}
"""Defects and remedies that make no sense together: this remedy recognizes a write by the version
on which it is based, which this defect leaves out."""
ORACLES: Sequence[world_specs.MakeOracle] = (
    *world_specs.DEVICES,
    granted_devices.GrantedDevices,
    *world_specs.CONTROLLED[1:],
    reservations.AllocationFinalizers,
    granted_devices.ReadyDevices,
    preparations.Preparations,
)
_ORDER = ("action", "pod", "fault", "actor", "claim", "pool")
"""The kinds of parts in the order in which shrinking leaves them out."""


def name(number: int) -> str:
    """Return the name of the world of this number."""
    return f"random-{number}"


@functools.lru_cache(maxsize=256)
def spec(name: str) -> world_specs.WorldSpec | None:
    """Return the spec of a random world; None if this is not the name of one."""
    found = NAME.fullmatch(name)
    if found is None:
        return None
    drawing = world_drawing.draw(int(found[1]))
    return world_specs.WorldSpec(
        title=f"a random world: {', '.join(drawing.features)}",
        setting=drawing.included,
        make=node_preparations.NodePreparations if drawing.is_of_node else world.World,
        sizes=_sizes(drawing),
        oracles=ORACLES,
        private_locks=world_specs.private_locks(drawing, drawing.numbers),
        choices_max=_choices_max(drawing),
        judged_s=4.0,
        drawn_hazards=known_hazards.of,
    )


def settings(
    world: str, defects: Sequence[str], more: Sequence[str] = ()
) -> tuple[tuple[str, ...], tuple[tuple[str, int], ...]]:
    """Return the remedies for a random world, with `more` of them, and its changed sizes.

    A remedy that cannot be combined with the defects is left out, and so are the parts of the world
    for which it is needed. Raises UsageError if the defects or `more` cannot be chosen together.
    """
    chosen_parts.of(defects, more)
    remedies, left_out = list(more), dict[str, int]()
    for hazard in known_hazards.of(world_drawing.draw(_number(world))):
        if hazard.remedy is None or hazard.remedy in remedies:
            continue
        if _are_possible(defects, [*remedies, hazard.remedy]):
            remedies.append(hazard.remedy)
        else:
            left_out |= dict.fromkeys(known_hazards.causes(hazard), 0)
    known = spec(world)
    sizes = known.sizes if known is not None else {}
    return tuple(remedies), tuple((key, 0) for key in left_out if key in sizes)


def _are_possible(defects: Sequence[str], remedies: Sequence[str]) -> bool:
    if any((defect, remedy) in _EXCLUDED for defect in defects for remedy in remedies):
        return False
    try:
        chosen_parts.of(defects, remedies)
    except errors.UsageError:
        return False
    return True


def features(world: str) -> Sequence[str]:
    """Return the features of a random world."""
    return world_drawing.draw(_number(world)).features


def _number(world: str) -> int:
    return int(world.removeprefix("random-"))


def _sizes(drawing: parts.Setting) -> dict[str, world_specs.Size]:
    listed = [part for part in reversed(drawing.parts) if not part.is_own]
    listed.sort(key=lambda part: _ORDER.index(part.kind))
    sizes = {part.name: world_specs.Size(1, 0) for part in listed}
    numbers = drawing.numbers.items()
    return sizes | {key: world_specs.Size(value, _LEAST.get(key, 0)) for key, value in numbers}


def _choices_max(drawing: parts.Setting) -> int:
    """Return how many choices a run may need.

    When a pod with a hundred claims ends, the controller looks at all of them for each of their six
    events, as upstream: up to 430,000 choices were seen.
    """
    large = sum(pod_drawing.has_many_claims(part.documents[0]) for part in drawing.of_kind("pod"))
    return world_specs.CHOICES_MAX * (1 + 10 * large)
