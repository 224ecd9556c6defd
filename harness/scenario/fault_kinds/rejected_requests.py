"""Requests that are answered with an error."""

import random
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

import pydantic

from harness.faults import injection
from harness.scenario.fault_kinds import fault, traffic_fault

_REASONS: Mapping[int, str] = {
    409: "Conflict",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
"""Reasons of the Status by HTTP status code, as API servers send them."""


class RejectRequest(traffic_fault.TrafficFault):
    """The request is answered with an error and not carried out."""

    kind: Literal["reject"]
    code: Literal[409, 429, 500, 503, 504]
    """HTTP status code."""
    retry_after_s: Annotated[int, pydantic.Field(ge=1, le=3600)] | None = None
    """Retry-After header in seconds; left out: no such header."""

    at: ClassVar[injection.Point] = "request"
    effect: ClassVar[fault.Effect] = fault.Effect.LOST_WRITE
    clause: ClassVar[str] = "the status write of {name} was rejected"
    is_drawn: ClassVar[bool] = True

    @classmethod
    def drawn(cls, dice: random.Random) -> fault.Keys:
        """Return keys of a fault in some writes, with one of the codes."""
        code = dice.choice(tuple(_REASONS))
        after = {"retry_after_s": 1} if code == 429 else {}
        return {**traffic_fault.drawn_writes(dice), "code": code, **after}

    @property
    def action(self) -> injection.Action:
        """Answer with the Status of the code."""
        return injection.Reject(
            code=self.code,
            reason=_REASONS[self.code],
            retry_after_seconds=self.retry_after_s,
        )

    @property
    def does(self) -> str:
        """The effect on a call."""
        after = f" with Retry-After {self.retry_after_s} s" if self.retry_after_s else ""
        return f"is answered {self.code}{after} and not carried out"


KINDS = (RejectRequest,)
