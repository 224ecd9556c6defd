"""What a look at the machine found: findings, their states, and the two ways to make one."""

import dataclasses
import enum
from collections.abc import Callable

from harness import errors


class State(enum.StrEnum):
    """Of a finding."""

    OK = "ok"
    WARNING = "warning"
    """It may work; more than one cluster, or a later run, may not."""
    MISSING = "missing"
    """The provider cannot work."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at."""

    provider: str
    part: str
    state: State
    seen: str
    remedy: str = ""


def judged(
    provider: str,
    part: str,
    *,
    good: bool,
    seen: str,
    remedy: str,
    otherwise: State = State.MISSING,
) -> Finding:
    """A finding of something that is good or not."""
    state = State.OK if good else otherwise
    return Finding(
        provider=provider, part=part, state=state, seen=seen, remedy="" if good else remedy
    )


def attempted(
    provider: str, part: str, look: Callable[[], str], *, otherwise: State = State.MISSING
) -> Finding:
    """A finding of something that says what is wrong, and what to do, when it is looked at."""
    try:
        return Finding(provider=provider, part=part, state=State.OK, seen=look())
    except errors.HarnessError as error:
        return Finding(provider=provider, part=part, state=otherwise, seen="no", remedy=str(error))
