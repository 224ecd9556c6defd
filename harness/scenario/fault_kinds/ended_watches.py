"""Watches that end before an event, and watches without bookmarks."""

from typing import Literal

from harness.faults import injection
from harness.scenario.fault_kinds import fault, traffic_fault

_ENDED = {
    **traffic_fault.DRAWN_WATCHES,
    "times": fault.whole(1, 3),
    "skip": fault.whole(0, 20),
}


class DropWatch(traffic_fault.TrafficFault):
    """The watch's connection closes before an event."""

    kind: Literal["drop-watch"]

    at = "event"
    acts = injection.Drop
    does = "is not sent; the watch's connection closes instead"
    effect = fault.Effect.ENDED_WATCH
    clause = "the claim watch of {client} was closed before the allocation of {name}"
    drawn = _ENDED


class ExpireWatch(traffic_fault.TrafficFault):
    """The watch ends with 410, so that the client must list again."""

    kind: Literal["expire-watch"]

    at = "event"
    acts = injection.Gone
    does = "is not sent; the watch ends with 410 instead"
    effect = fault.Effect.ENDED_WATCH
    clause = "the claim watch of {client} ended with 410 before the allocation of {name}"
    drawn = _ENDED


class StarveBookmarks(traffic_fault.TrafficFault):
    """Watches get no bookmarks."""

    kind: Literal["starve-bookmarks"]

    at = "event"
    is_of_bookmarks = True
    acts = injection.Omit
    does = "is left out"
    drawn = traffic_fault.DRAWN_WATCHES


KINDS = (DropWatch, ExpireWatch, StarveBookmarks)
