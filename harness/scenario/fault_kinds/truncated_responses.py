"""Responses and events that break off in the middle."""

import random
from typing import ClassVar, Literal

from harness.faults import injection
from harness.scenario.fault_kinds import fault, traffic_fault


class TruncateResponse(traffic_fault.TrafficFault):
    """The connection is reset in the middle of the response's body."""

    kind: Literal["truncate-response"]

    effect: ClassVar[fault.Effect] = fault.Effect.LOST_ANSWER
    clause: ClassVar[str] = "the response to the status write of {name} broke off"
    does: ClassVar[str] = "is answered with a body that breaks off in the middle"
    is_drawn: ClassVar[bool] = True

    @classmethod
    def drawn(cls, dice: random.Random) -> fault.Keys:
        """Return keys of a fault in some writes."""
        return traffic_fault.drawn_writes(dice)

    @property
    def point(self) -> injection.Point:
        """The point at which it applies: of a watch, the response is its events."""
        return "event" if self.on.verbs == ["watch"] else "response"

    @property
    def action(self) -> injection.Action:
        """Break the body off."""
        return injection.Truncate()


KINDS = (TruncateResponse,)
