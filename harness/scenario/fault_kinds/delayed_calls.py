"""Calls that are late: their request on its way to the API server, or their response."""

import random
from typing import ClassVar, Literal

from harness.faults import injection
from harness.scenario.fault_kinds import fault, traffic_fault


class _DelayedCall(traffic_fault.TrafficFault):
    """Base of faults that delay a call."""

    is_drawn: ClassVar[bool] = True

    @classmethod
    def drawn(cls, dice: random.Random) -> fault.Keys:
        """Return keys of a fault in some writes."""
        keys = traffic_fault.drawn_writes(dice)
        return {**keys, "seconds": fault.between(dice, fault.LAG_S)}


class DelayRequest(_DelayedCall):
    """The request reaches the API server late, even if its sender has died meanwhile."""

    kind: Literal["delay-request"]
    seconds: fault.Delay
    """Delay in seconds."""

    at: ClassVar[injection.Point] = "request"
    effect: ClassVar[fault.Effect] = fault.Effect.LATE_WRITE
    clause: ClassVar[str] = "the status write of {name} was under way for {lasted}"

    @property
    def action(self) -> injection.Action:
        """Hold the request."""
        return injection.Delay(seconds=self.seconds)

    @property
    def does(self) -> str:
        """The effect on a call."""
        return f"reaches the API server {self.seconds:g} s late"


class DelayResponse(_DelayedCall):
    """The response of a committed request arrives late."""

    kind: Literal["delay-response"]
    seconds: fault.Delay
    """Delay in seconds."""

    at: ClassVar[injection.Point] = "response"
    effect: ClassVar[fault.Effect] = fault.Effect.LOST_ANSWER
    clause: ClassVar[str] = "the response to the status write of {name} arrived {lasted} late"

    @property
    def action(self) -> injection.Action:
        """Hold the response."""
        return injection.Delay(seconds=self.seconds)

    @property
    def does(self) -> str:
        """The effect on a call."""
        return f"is carried out, and its answer arrives {self.seconds:g} s late"


KINDS = (DelayRequest, DelayResponse)
