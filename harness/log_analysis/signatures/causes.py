"""The race behind a double allocation, as it is told."""

import dataclasses
import enum
from collections.abc import Sequence
from typing import Literal

from harness.log_analysis.claim_moments import ClaimMoments
from harness.log_analysis.log_records import LogRecord

Bound = Literal["exactly", "at least", "at most"]


class Signature(enum.StrEnum):
    """The races that a log can show."""

    EARLY_RETURN = "assume-cache early return"
    GATHER = "non-atomic gather"
    ACCOUNTING = "in-flight accounting unbalanced"
    LOST_ANSWER = "lost answer of a status write"
    OTHER = "other"
    UNKNOWN = "cannot tell"


@dataclasses.dataclass(frozen=True, slots=True)
class Window:
    """The time in which the scheduler could miss the device."""

    begin: LogRecord
    end: LogRecord
    bound: Bound
    """How the time between the two lines relates to the window."""
    meaning: str
    """The condition that is true within the window."""

    @property
    def us(self) -> int:
        """Its length in microseconds, by the times of the lines."""
        return self.end.time_us - self.begin.time_us


@dataclasses.dataclass(frozen=True, slots=True)
class Cause:
    """The race behind a double allocation."""

    signature: Signature
    is_certain: bool
    """True if the order of the lines leaves no other possibility."""
    sentences: Sequence[str]
    """Why, with line numbers."""
    window: Window | None = None


def at(record: LogRecord | None) -> str:
    """Return where a line is; with its file, if there are several."""
    return f"line {record.number}{record.file.label}" if record else "a line that is missing"


def window(
    begin: LogRecord | None, end: LogRecord | None, bound: Bound, meaning: str
) -> Window | None:
    """Return the window between two lines; None if one of them is missing."""
    return Window(begin, end, bound, meaning) if begin and end else None


def removal(moments: ClaimMoments) -> LogRecord | None:
    """Return a line by which the claim had certainly left the claims in flight.

    A pod is bound after PreBind, whose last step removes its claims.
    """
    return moments.removed or moments.binding or moments.bound
