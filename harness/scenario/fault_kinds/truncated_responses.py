"""Responses and events that break off in the middle."""

from typing import Literal

from harness.faults import injection
from harness.scenario.fault_kinds import fault, traffic_fault


class TruncateResponse(traffic_fault.TrafficFault):
    """The connection is reset in the middle of the response's body."""

    kind: Literal["truncate-response"]

    acts = injection.Truncate
    does = "is answered with a body that breaks off in the middle"
    effect = fault.Effect.LOST_ANSWER
    clause = "the response to the status write of {name} broke off"
    drawn = traffic_fault.DRAWN_WRITES

    @property
    def point(self) -> injection.Point:
        """The point at which it applies: of a watch, the response is its events."""
        return "event" if self.on.verbs == ["watch"] else "response"


KINDS = (TruncateResponse,)
