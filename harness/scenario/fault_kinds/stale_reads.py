"""Reads from the past: gets and lists, and the read that decides a deletion."""

import random
from typing import Any, ClassVar, Literal

from harness.faults import injection
from harness.scenario.fault_kinds import fault, traffic_fault

_LISTS: tuple[dict[str, Any], ...] = (
    {"resource": "resourceclaims", "verbs": ["list"]},
    {"resource": "resourceslices", "verbs": ["list"]},
    {"role": "claim-controller", "resource": "pods", "verbs": ["list"]},
)


class StaleRead(traffic_fault.TrafficFault):
    """A get or list shows the state of some seconds ago, as an API server's watch cache may."""

    kind: Literal["stale-list"]
    seconds: fault.Delay
    """Age of the state in seconds."""

    at: ClassVar[injection.Point] = "request"
    possible_verbs: ClassVar[tuple[str, ...]] = ("get", "list")
    effect: ClassVar[fault.Effect] = fault.Effect.OLD_STATE
    is_drawn: ClassVar[bool] = True

    @classmethod
    def drawn(cls, dice: random.Random) -> fault.Keys:
        """Return keys of a fault in lists."""
        return {
            "on": dice.choice(_LISTS),
            "seconds": fault.between(dice, fault.PAUSE_S),
            "duration_s": fault.between(dice, fault.LAST_S),
        }

    @property
    def action(self) -> injection.Action:
        """Answer with the old state."""
        return injection.Stale(seconds=self.seconds)

    @property
    def does(self) -> str:
        """The effect on a read."""
        return f"shows the state of {self.seconds:g} s ago"


class OverlookFinalizers(traffic_fault.TrafficFault):
    """A deletion is decided from the state of some seconds ago: newer finalizers are not seen.

    kube-apiserver does it within milliseconds. Only the embedded API server can be made to.
    """

    kind: Literal["overlook-finalizers"]
    seconds: fault.Delay
    """Age of the state in seconds; an object without finalizers since then is removed at once."""

    at: ClassVar[injection.Point] = "request"
    possible_verbs: ClassVar[tuple[str, ...]] = ("delete",)
    needs_server: ClassVar[bool] = True

    @property
    def action(self) -> injection.Action:
        """Remove the object."""
        return injection.Overlook(seconds=self.seconds)

    @property
    def does(self) -> str:
        """The effect on a deletion."""
        return f"does not see finalizers that were added in the {self.seconds:g} s before"


KINDS = (StaleRead, OverlookFinalizers)
