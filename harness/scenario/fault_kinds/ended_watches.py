"""Watches that end before an event: the connection closes, or the resourceVersion is too old."""

import random
from typing import ClassVar, Literal

from harness.faults import injection
from harness.scenario.fault_kinds import fault, traffic_fault


class _EndedWatch(traffic_fault.TrafficFault):
    """Base of faults that end a watch before an event."""

    at: ClassVar[injection.Point] = "event"
    effect: ClassVar[fault.Effect] = fault.Effect.ENDED_WATCH
    is_drawn: ClassVar[bool] = True

    @classmethod
    def drawn(cls, dice: random.Random) -> fault.Keys:
        """Return keys of a fault in watches."""
        keys = traffic_fault.drawn_watches(dice)
        return {**keys, "times": dice.randint(1, 3), "skip": dice.randint(0, 20)}


class DropWatch(_EndedWatch):
    """The watch's connection closes before an event."""

    kind: Literal["drop-watch"]

    clause: ClassVar[str] = "the claim watch of {client} was closed before the allocation of {name}"
    does: ClassVar[str] = "is not sent; the watch's connection closes instead"
    action: ClassVar[injection.Action] = injection.Drop()


class ExpireWatch(_EndedWatch):
    """The watch ends with 410, so that the client must list again."""

    kind: Literal["expire-watch"]

    clause: ClassVar[str] = (
        "the claim watch of {client} ended with 410 before the allocation of {name}"
    )
    does: ClassVar[str] = "is not sent; the watch ends with 410 instead"
    action: ClassVar[injection.Action] = injection.Gone()


KINDS = (DropWatch, ExpireWatch)
