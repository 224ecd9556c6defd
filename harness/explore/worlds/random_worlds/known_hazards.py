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

from collections.abc import Callable, Mapping, Sequence

from harness.explore.worlds import world_specs
from harness.explore.worlds.random_worlds import action_drawing, drawings, pod_drawing

_EXPIRED = ("expire-watch",)
CAUSES: Mapping[str, tuple[str, ...]] = {
    "H1": action_drawing.LOSSES,
    "H2": (*action_drawing.GAPS, "scheduler-2", "fail-over"),
    "H3": ("fail-over",),
    "H8": action_drawing.LOSSES,
    "H9": _EXPIRED,
    "H12": action_drawing.LOSSES,
    "H13": (*_EXPIRED, *action_drawing.LOSSES),
    "H14": action_drawing.GAPS,
    "H15": ("touch-objects", *action_drawing.LOSSES),
}
"""The parts that a hazard needs, of which one is enough."""


def of(drawing: drawings.Drawing) -> Sequence[world_specs.Hazard]:
    """Return the hazards that can show in a world."""
    if drawing.is_of_node:
        return ()
    return [
        hazard
        for hazard, is_possible in _KNOWN
        if drawing.has(CAUSES[hazard.hypothesis]) and is_possible(drawing)
    ]


def _always(_: drawings.Drawing) -> bool:
    return True


def _is_controlled(drawing: drawings.Drawing) -> bool:
    return drawing.has((pod_drawing.CONTROLLER,))


def _has_extended(drawing: drawings.Drawing) -> bool:
    pods = drawing.of_kind("pod")
    return any(pod_drawing.is_extended(pod.documents[0]) for pod in pods)


def _may_forget_claims(drawing: drawings.Drawing) -> bool:
    """Return whether only the status of a pod names its claims."""
    is_generated = drawing.has((pod_drawing.TEMPLATE,))
    return _is_controlled(drawing) and (is_generated or _has_extended(drawing))


def _may_lose_claims(drawing: drawings.Drawing) -> bool:
    return _is_controlled(drawing) and drawing.does("lose_claim")


def _may_free_claims(drawing: drawings.Drawing) -> bool:
    """Return whether PostFilter may have to free a claim: its device is elsewhere, or broken."""
    return len(drawing.nodes) > 1 or drawing.has(("device-driver",))


_KNOWN: Sequence[tuple[world_specs.Hazard, Callable[[drawings.Drawing], bool]]] = (
    (world_specs.Hazard("H1", remedy="keep-in-flight-until-known"), _always),
    (world_specs.Hazard("H2", remedy="compare-devices-on-update"), _always),
    (world_specs.Hazard("H3", remedy="fence-predecessor"), _always),
    (world_specs.Hazard("H8", remedy="derive-claim-names"), _is_controlled),
    (world_specs.Hazard("H9", remedy="ask-again-for-unseen-pods"), _is_controlled),
    (world_specs.Hazard("H12", remedy="try-again-after-post-filter"), _has_extended),
    (world_specs.Hazard("H13", remedy="find-claims-by-reservation"), _may_forget_claims),
    (world_specs.Hazard("H14", remedy="await-created-claims"), _may_lose_claims),
    (world_specs.Hazard("H15", remedy="try-again-after-post-filter"), _may_free_claims),
)
"""Hazards with a remedy, and whether a world has what they need besides their cause."""
