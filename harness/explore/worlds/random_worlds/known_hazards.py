"""The hazards of today's Kubernetes that a drawn world has, and the remedies that end them.

A random world is for what is not known yet. Where one of the known hazards H1 to H9 can show, the
search therefore gives the subject the remedy; without it, a finding says so by the hazard's name.

The others are kept out of the worlds, also those that have a remedy (H12 to H15): two schedulers
never compete for devices (kubernetes#128980), the driver of the nodes always refuses a device in
use (kubernetes#141471), no write of a pod with several claims (H10) or with extended resources
(H12) is lost, no binding (H11), and no write fails where PostFilter may free a claim (H15). Where a
watch may miss events, no more is expected of generated claims at rest (H13, H14).
"""

from collections.abc import Mapping, Sequence

from harness.explore.worlds import world_specs
from harness.explore.worlds.random_worlds import drawings, pod_drawing

_LOST = ("lose-response", "lose-request", "delay-request")
_EXPIRED = ("expire-watch",)
_H1 = world_specs.Hazard("H1", remedy="keep-in-flight-until-known")
_H2 = world_specs.Hazard("H2", remedy="compare-devices-on-update")
_H3 = world_specs.Hazard("H3", remedy="fence-predecessor")
_H8 = world_specs.Hazard("H8", remedy="derive-claim-names")
_H9 = world_specs.Hazard("H9", remedy="ask-again-for-unseen-pods")
CAUSES: Mapping[str, tuple[str, ...]] = {
    "H1": _LOST,
    "H2": _EXPIRED,
    "H3": ("fail-over",),
    "H8": _LOST,
    "H9": _EXPIRED,
}
"""The parts that a hazard needs, of which one is enough."""
_OF_SCHEDULER, _OF_CONTROLLER = (_H1, _H2, _H3), (_H8, _H9)


def of(drawing: drawings.Drawing) -> Sequence[world_specs.Hazard]:
    """Return the hazards that can show in a world."""
    if drawing.is_of_node:
        return ()
    is_controlled = drawing.has((pod_drawing.CONTROLLER,))
    possible = (*_OF_SCHEDULER, *(_OF_CONTROLLER if is_controlled else ()))
    return [hazard for hazard in possible if drawing.has(CAUSES[hazard.hypothesis])]
