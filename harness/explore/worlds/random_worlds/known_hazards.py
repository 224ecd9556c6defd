"""The hazards of today's Kubernetes that a drawn world has, and the remedies that end them.

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
from collections.abc import Callable, Sequence

from harness.explore.worlds import parts, world_specs
from harness.explore.worlds.random_worlds import action_drawing, pod_drawing
from harness.scenario import hazards


def _is_controlled(drawing: parts.Setting) -> bool:
    return drawing.has((parts.CONTROLLER,))


def _has_extended(drawing: parts.Setting) -> bool:
    pods = drawing.of_kind("pod")
    return any(pod_drawing.is_extended(pod.documents[0]) for pod in pods)


def _may_forget_claims(drawing: parts.Setting) -> bool:
    """Return whether only the status of a pod names its claims."""
    is_generated = drawing.has((pod_drawing.TEMPLATE,))
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
    "H1": _Need(action_drawing.LOSSES),
    "H2": _Need((*action_drawing.GAPS, parts.SECOND_SCHEDULER, "fail-over")),
    "H3": _Need(("fail-over",)),
    "H8": _Need(action_drawing.LOSSES, _is_controlled),
    "H9": _Need(_EXPIRED, _is_controlled),
    "H12": _Need(action_drawing.LOSSES, _has_extended),
    "H13": _Need((*_EXPIRED, *action_drawing.LOSSES), _may_forget_claims),
    "H14": _Need(action_drawing.GAPS, lambda it: _is_controlled(it) and it.does("lose_claim")),
    "H15": _Need(("touch-objects", *action_drawing.LOSSES), _may_free_claims),
}
"""Hazards with a remedy, by their ids."""


def of(drawing: parts.Setting) -> Sequence[world_specs.Hazard]:
    """Return the hazards that can show in a world."""
    if drawing.is_of_node:
        return ()
    return [
        world_specs.Hazard(name, hazards.pages()[name].hazard.remedy)
        for name, need in _NEEDS.items()
        if drawing.has(need.causes) and need.besides(drawing)
    ]


def causes(hazard: world_specs.Hazard) -> tuple[str, ...]:
    """Return the parts of which a hazard needs one."""
    return _NEEDS[hazard.hypothesis].causes
