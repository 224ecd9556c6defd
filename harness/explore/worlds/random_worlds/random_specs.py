"""The specs of random worlds, by name, and the hazards of today's Kubernetes that a world has.

A random world is for what is not known yet. Where a known hazard that has a remedy can show, the
search therefore gives the subject the remedy; without it, a finding says so by the hazard's name.

The others are kept out of the worlds: two schedulers never compete for devices (kubernetes#128980),
the driver of the nodes always refuses a device in use (kubernetes#141471), no write of a pod with
several claims is lost (H10), no scheduler is restarted where events are missed (the remedy for H3
does not cover that), no answer to a binding is lost (H11), no write comes late of a pod with
extended resources, as also by a restart of the scheduler (H16), or where a generated claim is lost
(H17), and no binding is under way when a scheduler is restarted (H19). There, the remedy for H3 is
one for H18, too.
"""

import dataclasses
import functools
import re
from collections.abc import Callable, Sequence

from harness import errors
from harness.explore.worlds import (
    api_server,
    chosen_parts,
    parts,
    world,
    world_fixtures,
    world_specs,
)
from harness.explore.worlds.lifecycles import node_preparations
from harness.explore.worlds.oracles import claim_oracles, device_oracles, preparations
from harness.explore.worlds.random_worlds import action_drawing, pod_drawing, world_drawing
from harness.scenario import hazards

NAME = re.compile(r"random-(0|[1-9][0-9]{0,18})")
_LEAST = {"binders": 1, "threads": 1, "pods": 2}
_EXCLUDED = {("allocation-without-finalizer", "keep-in-flight-until-known")}
"""Defects and remedies that make no sense together: this remedy recognizes a write by the version
on which it is based, which this defect leaves out."""
ORACLES: Sequence[world_specs.MakeOracle] = (
    *world_specs.DEVICES,
    device_oracles.GrantedDevices,
    *world_specs.CONTROLLED[1:],
    claim_oracles.AllocationFinalizers,
    device_oracles.ReadyDevices,
    preparations.Preparations,
)
_ORDER = ("action", "pod", "fault", "actor", "claim", "pool")
"""The kinds of parts in the order in which shrinking leaves them out."""


def name(number: int) -> str:
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
        oracles=node_preparations.ORACLES if drawing.is_of_node else ORACLES,
        private_locks=world_specs.private_locks(drawing, drawing.numbers),
        choices_max=_choices_max(drawing),
        judged_s=4.0,
        drawn_hazards=known_hazards,
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
    for hazard in known_hazards(world_drawing.draw(_number(world))):
        if hazard.remedy is None or hazard.remedy in remedies:
            continue
        if _are_possible(defects, [*remedies, hazard.remedy]):
            remedies.append(hazard.remedy)
        else:
            left_out |= dict.fromkeys(_NEEDS[hazard.id].causes, 0)
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


def _is_controlled(drawing: parts.Setting) -> bool:
    return drawing.has((parts.CONTROLLER,))


def _has_extended(drawing: parts.Setting) -> bool:
    pods = drawing.of_kind("pod")
    return any(pod_drawing.is_extended(pod.documents[0]) for pod in pods)


def _may_forget_claims(drawing: parts.Setting) -> bool:
    """Return whether only the status of a pod names its claims."""
    is_generated = drawing.has((world_fixtures.TEMPLATE,))
    return _is_controlled(drawing) and (is_generated or _has_extended(drawing))


def _may_free_claims(drawing: parts.Setting) -> bool:
    """Return whether PostFilter may have to free a claim: its device is elsewhere, or broken."""
    return len(drawing.nodes) > 1 or drawing.has((parts.DEVICE_DRIVER,))


@dataclasses.dataclass(frozen=True, slots=True)
class _Need:
    """The needs of a hazard in a world."""

    causes: tuple[str, ...]
    """Parts; one of them is enough."""
    besides: Callable[[parts.Setting], bool] = lambda _: True
    """Returns whether a world has the other things that it needs."""


_EXPIRED = ("expire-watch",)
_NEEDS = {
    "H1": _Need(api_server.LOSSES),
    "H2": _Need((*action_drawing.GAPS, parts.SECOND_SCHEDULER, "fail-over")),
    "H3": _Need(("fail-over",)),
    "H8": _Need(api_server.LOSSES, _is_controlled),
    "H9": _Need(_EXPIRED, _is_controlled),
    "H12": _Need(api_server.LOSSES, _has_extended),
    "H13": _Need((*_EXPIRED, *api_server.LOSSES), _may_forget_claims),
    "H14": _Need(action_drawing.GAPS, lambda it: _is_controlled(it) and it.does("lose_claim")),
    "H15": _Need(("touch-objects", *api_server.LOSSES), _may_free_claims),
}
"""Hazards with a remedy, by their ids."""


def known_hazards(drawing: parts.Setting) -> Sequence[hazards.Hazard]:
    if drawing.is_of_node:
        return ()
    return [
        hazards.pages()[name].hazard
        for name, need in _NEEDS.items()
        if drawing.has(need.causes) and need.besides(drawing)
    ]
