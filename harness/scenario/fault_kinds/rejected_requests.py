"""Requests that are answered with an error."""

import random
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import pydantic

from harness.faults import injection
from harness.scenario.fault_kinds import fault, traffic_fault

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


class RejectRequest(traffic_fault.TrafficFault):
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
    drawn = {"code": fault.one_of(409, 429, 500, 503, 504), **traffic_fault.DRAWN_WRITES}

    @classmethod
    def draw(cls, dice: random.Random) -> fault.Keys:
        """Return one of the codes; 429 with the header."""
        keys = super().draw(dice)
        return keys | ({"retry_after_s": 1} if keys["code"] == 429 else {})

    @property
    def action(self) -> injection.Action:
        """The Status of the code."""
        more = {"message": _FORBIDDEN} if self.code == 403 else {}
        return injection.Reject(
            code=self.code,
            reason=_REASONS[self.code],
            retry_after_seconds=self.retry_after_s,
            **more,
        )

    @property
    def words(self) -> Mapping[str, Any]:
        """Its keys, and the header as text."""
        after = f" with Retry-After {self.retry_after_s} s" if self.retry_after_s else ""
        return {**dict(self), "after": after}


KINDS = (RejectRequest,)
