"""The kinds of faults of API calls and of watches: where each applies, and what a carrier does."""

import random
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import pydantic

from harness.faults import injection
from harness.scenario.fault_kinds import fault
from harness.scenario.fault_kinds.traffic_fault import TrafficFault

_WRITES: Mapping[str, fault.Draw] = {
    "on": fault.one_of(
        {"resource": "resourceclaims", "subresource": "status", "verbs": ["update"]},
        {"resource": "pods", "subresource": "binding", "verbs": ["create"]},
        {"role": "claim-controller", "resource": "resourceclaims"},
        {"role": "kubelet", "resource": "pods", "subresource": "status"},
    ),
    "times": fault.whole(1, 20),
    "duration_s": fault.LASTING,
}
"""The keys of a drawn fault in some writes."""
_WATCHES: Mapping[str, fault.Draw] = {
    "on": fault.one_of(
        {"resource": "resourceclaims"},
        {"resource": "pods"},
        {"role": "claim-controller", "resource": "pods"},
        {"role": "claim-controller", "resource": "resourceclaims"},
        {"role": "kubelet", "resource": "pods"},
    ),
    "duration_s": fault.LASTING,
}
"""The keys of a drawn fault in watches."""
_ENDED = {**_WATCHES, "times": fault.whole(1, 3), "skip": fault.whole(0, 20)}
_REASONS: Mapping[int, str] = {
    403: "Forbidden",
    409: "Conflict",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
"""Reasons of the Status by HTTP status code, as API servers send them."""
_FORBIDDEN = 'forbidden: User "anyone" cannot do this (injected by a fault)'


class LoseRequest(TrafficFault):
    """The connection closes before the API server receives the request: nothing is committed."""

    kind: Literal["lose-request"]

    at = "request"
    acts = injection.Lose
    does = "is lost before it is carried out"
    effect = fault.Effect.LOST_WRITE
    clause = "the status write of {name} was lost before the commit"
    drawn = _WRITES


class LoseResponse(TrafficFault):
    """The connection closes after the commit, before the response: the outcome is unknown."""

    kind: Literal["lose-response"]

    at = "response"
    acts = injection.Lose
    does = "is carried out, and its answer is lost"
    effect = fault.Effect.LOST_ANSWER
    clause = "the response to the status write of {name} was lost"
    drawn = _WRITES


class DelayRequest(TrafficFault):
    """The request reaches the API server late, even if its sender has died meanwhile."""

    kind: Literal["delay-request"]
    seconds: fault.Delay
    """Delay in seconds."""

    at = "request"
    acts = injection.Delay
    does = "reaches the API server {seconds:g} s late"
    effect = fault.Effect.LATE_WRITE
    clause = "the status write of {name} was under way for {lasted}"
    drawn = {**_WRITES, "seconds": fault.LAG}


class DelayResponse(TrafficFault):
    """The response of a committed request arrives late."""

    kind: Literal["delay-response"]
    seconds: fault.Delay
    """Delay in seconds."""

    at = "response"
    acts = injection.Delay
    does = "is carried out, and its answer arrives {seconds:g} s late"
    effect = fault.Effect.LOST_ANSWER
    clause = "the response to the status write of {name} arrived {lasted} late"
    drawn = {**_WRITES, "seconds": fault.LAG}


class RejectRequest(TrafficFault):
    """The request is answered with an error and not carried out."""

    kind: Literal["reject"]
    code: Literal[403, 409, 429, 500, 503, 504]
    """HTTP status code; 403 as of an authorizer that has not read the roles yet."""
    retry_after_s: Annotated[int, pydantic.Field(ge=1, le=3600)] | None = None
    """Retry-After header in seconds; left out: no such header."""

    at = "request"
    does = "is answered {code}{after} and not carried out"
    effect = fault.Effect.LOST_WRITE
    clause = "the status write of {name} was rejected"
    drawn = {"code": fault.one_of(409, 429, 500, 503, 504), **_WRITES}

    @classmethod
    def draw(cls, dice: random.Random) -> fault.Keys:
        keys = super().draw(dice)
        return keys | ({"retry_after_s": 1} if keys["code"] == 429 else {})

    @property
    def action(self) -> injection.Action:
        more = {"message": _FORBIDDEN} if self.code == 403 else {}
        return injection.Reject(
            code=self.code,
            reason=_REASONS[self.code],
            retry_after_seconds=self.retry_after_s,
            **more,
        )

    @property
    def words(self) -> Mapping[str, Any]:
        after = f" with Retry-After {self.retry_after_s} s" if self.retry_after_s else ""
        return {**dict(self), "after": after}


class TruncateResponse(TrafficFault):
    """The connection is reset in the middle of the response's body."""

    kind: Literal["truncate-response"]

    acts = injection.Truncate
    does = "is answered with a body that breaks off in the middle"
    effect = fault.Effect.LOST_ANSWER
    clause = "the response to the status write of {name} broke off"
    drawn = _WRITES

    @property
    def point(self) -> injection.Point:
        """The point at which it applies: of a watch, the response is its events."""
        return "event" if self.on.verbs == ["watch"] else "response"


class StaleRead(TrafficFault):
    """A get or list shows the state of some seconds ago, as an API server's watch cache may."""

    kind: Literal["stale-list"]
    seconds: fault.Delay
    """Age of the state in seconds."""

    at = "request"
    only_verbs = ("get", "list")
    acts = injection.Stale
    does = "shows the state of {seconds:g} s ago"
    effect = fault.Effect.OLD_STATE
    drawn = {
        "on": fault.one_of(
            {"resource": "resourceclaims", "verbs": ["list"]},
            {"resource": "resourceslices", "verbs": ["list"]},
            {"role": "claim-controller", "resource": "pods", "verbs": ["list"]},
        ),
        "seconds": fault.PAUSE,
        "duration_s": fault.LASTING,
    }


class OverlookFinalizers(TrafficFault):
    """A deletion is decided from the state of some seconds ago: newer finalizers are not seen.

    kube-apiserver does it within milliseconds. Only the embedded API server can be made to.
    """

    kind: Literal["overlook-finalizers"]
    seconds: fault.Delay
    """Age of the state in seconds; an object without finalizers since then is removed at once."""

    at = "request"
    only_verbs = ("delete",)
    acts = injection.Overlook
    does = "does not see finalizers that were added in the {seconds:g} s before"
    needs_server = True


class DelayEvents(TrafficFault):
    """Watch events arrive late, in their order."""

    kind: Literal["delay-events"]
    seconds: fault.Delay
    """Lag in seconds."""

    at = "event"
    acts = injection.Delay
    does = "arrives {seconds:g} s late"
    effect = fault.Effect.LATE_EVENT
    drawn = {**_WATCHES, "seconds": fault.LAG}


class DropWatch(TrafficFault):
    """The watch's connection closes before an event."""

    kind: Literal["drop-watch"]

    at = "event"
    acts = injection.Drop
    does = "is not sent; the watch's connection closes instead"
    effect = fault.Effect.ENDED_WATCH
    clause = "the claim watch of {client} was closed before the allocation of {name}"
    drawn = _ENDED


class ExpireWatch(TrafficFault):
    """The watch ends with 410, so that the client must list again."""

    kind: Literal["expire-watch"]

    at = "event"
    acts = injection.Gone
    does = "is not sent; the watch ends with 410 instead"
    effect = fault.Effect.ENDED_WATCH
    clause = "the claim watch of {client} ended with 410 before the allocation of {name}"
    drawn = _ENDED


class StarveBookmarks(TrafficFault):
    """Watches get no bookmarks."""

    kind: Literal["starve-bookmarks"]

    at = "event"
    is_of_bookmarks = True
    acts = injection.Omit
    does = "is left out"
    drawn = _WATCHES


KINDS = (
    *(LoseRequest, LoseResponse, DelayRequest, DelayResponse, RejectRequest, TruncateResponse),
    *(StaleRead, OverlookFinalizers, DelayEvents, DropWatch, ExpireWatch, StarveBookmarks),
)
