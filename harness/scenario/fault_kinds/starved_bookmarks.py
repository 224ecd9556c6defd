"""Watches without bookmarks."""

import random
from typing import ClassVar, Literal

from harness.faults import injection
from harness.scenario.fault_kinds import fault, traffic_fault


class StarveBookmarks(traffic_fault.TrafficFault):
    """Watches get no bookmarks."""

    kind: Literal["starve-bookmarks"]

    at: ClassVar[injection.Point] = "event"
    action: ClassVar[injection.Action] = injection.Omit()
    events: ClassVar[tuple[Literal["BOOKMARK"], ...]] = ("BOOKMARK",)
    event_noun: ClassVar[str] = "bookmark"
    does: ClassVar[str] = "is left out"
    is_drawn: ClassVar[bool] = True

    @classmethod
    def drawn(cls, dice: random.Random) -> fault.Keys:
        """Return keys of a fault in watches."""
        return traffic_fault.drawn_watches(dice)


KINDS = (StarveBookmarks,)
