"""Watch events that are late."""

from typing import Literal

from harness.faults import injection
from harness.scenario.fault_kinds import fault, traffic_fault


class DelayEvents(traffic_fault.TrafficFault):
    """Watch events arrive late, in their order."""

    kind: Literal["delay-events"]
    seconds: fault.Delay
    """Lag in seconds."""
    event_types: list[traffic_fault.EventType] = []
    """Types of events that are delayed, with all later ones of the watch; empty: all."""

    at = "event"
    acts = injection.Delay
    does = "arrives {seconds:g} s late"
    effect = fault.Effect.LATE_EVENT
    drawn = {**traffic_fault.DRAWN_WATCHES, "seconds": fault.LAG}


KINDS = (DelayEvents,)
