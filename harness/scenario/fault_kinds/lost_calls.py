"""Calls whose connection closes: before they are carried out, or before their answer is sent."""

import random
from typing import ClassVar, Literal

from harness.faults import injection
from harness.scenario.fault_kinds import fault, traffic_fault


class _LostCall(traffic_fault.TrafficFault):
    """Base of faults that close the connection of a call."""

    is_drawn: ClassVar[bool] = True

    @classmethod
    def drawn(cls, dice: random.Random) -> fault.Keys:
        """Return keys of a fault in some writes."""
        return traffic_fault.drawn_writes(dice)

    @property
    def action(self) -> injection.Action:
        """Close the connection."""
        return injection.Lose()


class LoseRequest(_LostCall):
    """The connection closes before the API server receives the request: nothing is committed."""

    kind: Literal["lose-request"]

    at: ClassVar[injection.Point] = "request"
    effect: ClassVar[fault.Effect] = fault.Effect.LOST_WRITE
    clause: ClassVar[str] = "the status write of {name} was lost before the commit"
    does: ClassVar[str] = "is lost before it is carried out"


class LoseResponse(_LostCall):
    """The connection closes after the commit, before the response: the outcome is unknown."""

    kind: Literal["lose-response"]

    at: ClassVar[injection.Point] = "response"
    effect: ClassVar[fault.Effect] = fault.Effect.LOST_ANSWER
    clause: ClassVar[str] = "the response to the status write of {name} was lost"
    does: ClassVar[str] = "is carried out, and its answer is lost"


KINDS = (LoseRequest, LoseResponse)
