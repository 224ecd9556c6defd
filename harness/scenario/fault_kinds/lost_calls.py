"""Calls whose connection closes: before they are carried out, or before their answer is sent."""

from typing import Literal

from harness.faults import injection
from harness.scenario.fault_kinds import fault, traffic_fault


class LoseRequest(traffic_fault.TrafficFault):
    """The connection closes before the API server receives the request: nothing is committed."""

    kind: Literal["lose-request"]

    at = "request"
    acts = injection.Lose
    does = "is lost before it is carried out"
    effect = fault.Effect.LOST_WRITE
    clause = "the status write of {name} was lost before the commit"
    drawn = traffic_fault.DRAWN_WRITES


class LoseResponse(traffic_fault.TrafficFault):
    """The connection closes after the commit, before the response: the outcome is unknown."""

    kind: Literal["lose-response"]

    at = "response"
    acts = injection.Lose
    does = "is carried out, and its answer is lost"
    effect = fault.Effect.LOST_ANSWER
    clause = "the response to the status write of {name} was lost"
    drawn = traffic_fault.DRAWN_WRITES


KINDS = (LoseRequest, LoseResponse)
