"""Watch events that are late."""

import random
from typing import ClassVar, Literal

from harness.faults import injection
from harness.scenario.fault_kinds import fault, traffic_fault


class DelayEvents(traffic_fault.TrafficFault):
    """Watch events arrive late, in their order."""

    kind: Literal["delay-events"]
    seconds: fault.Delay
    """Lag in seconds."""
    event_types: list[traffic_fault.EventType] = []
    """Types of events that are delayed, with all later ones of the watch; empty: all."""

    at: ClassVar[injection.Point] = "event"
    effect: ClassVar[fault.Effect] = fault.Effect.LATE_EVENT
    is_drawn: ClassVar[bool] = True

    @classmethod
    def drawn(cls, dice: random.Random) -> fault.Keys:
        """Return keys of a fault in watches."""
        keys = traffic_fault.drawn_watches(dice)
        return {**keys, "seconds": fault.between(dice, fault.LAG_S)}

    @property
    def events(self) -> tuple[traffic_fault.EventType | Literal["BOOKMARK"], ...]:
        """The types of events that it delays."""
        return tuple(self.event_types)

    @property
    def action(self) -> injection.Action:
        """Hold the event."""
        return injection.Delay(seconds=self.seconds)

    @property
    def event_noun(self) -> str:
        """The noun for an event, with the types."""
        return f"event {' or '.join(self.event_types)}" if self.event_types else "watch event"

    @property
    def does(self) -> str:
        """The effect on an event."""
        return f"arrives {self.seconds:g} s late"


KINDS = (DelayEvents,)
