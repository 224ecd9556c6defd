"""Findings about this machine, and the two ways to obtain one."""

import dataclasses
import enum
from collections.abc import Callable

from harness import errors


class State(enum.StrEnum):
    """State of a finding."""

    OK = "ok"
    WARNING = "warning"
    """The provider may work, but more than one cluster or a later run may fail."""
    MISSING = "missing"
    """The provider cannot work."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Result of one check."""

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
    """Return a finding from a boolean result."""
    state = State.OK if good else otherwise
    return Finding(
        provider=provider, part=part, state=state, seen=seen, remedy="" if good else remedy
    )


def attempted(
    provider: str, part: str, look: Callable[[], str], *, otherwise: State = State.MISSING
) -> Finding:
    """Return a finding from a check that raises HarnessError with a remedy if it fails."""
    try:
        return Finding(provider=provider, part=part, state=State.OK, seen=look())
    except errors.HarnessError as error:
        return Finding(provider=provider, part=part, state=otherwise, seen="no", remedy=str(error))
