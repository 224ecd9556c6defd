"""Calls that are late: their request on its way to the API server, or their response."""

from typing import Literal

from harness.faults import injection
from harness.scenario.fault_kinds import fault, traffic_fault


class DelayRequest(traffic_fault.TrafficFault):
    """The request reaches the API server late, even if its sender has died meanwhile."""

    kind: Literal["delay-request"]
    seconds: fault.Delay
    """Delay in seconds."""

    at = "request"
    acts = injection.Delay
    does = "reaches the API server {seconds:g} s late"
    effect = fault.Effect.LATE_WRITE
    clause = "the status write of {name} was under way for {lasted}"
    drawn = {**traffic_fault.DRAWN_WRITES, "seconds": fault.LAG}


class DelayResponse(traffic_fault.TrafficFault):
    """The response of a committed request arrives late."""

    kind: Literal["delay-response"]
    seconds: fault.Delay
    """Delay in seconds."""

    at = "response"
    acts = injection.Delay
    does = "is carried out, and its answer arrives {seconds:g} s late"
    effect = fault.Effect.LOST_ANSWER
    clause = "the response to the status write of {name} arrived {lasted} late"
    drawn = {**traffic_fault.DRAWN_WRITES, "seconds": fault.LAG}


KINDS = (DelayRequest, DelayResponse)
