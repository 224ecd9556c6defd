"""Verdicts, and what a check says besides."""

import enum
from collections.abc import Iterable

import msgspec


class Verdict(enum.StrEnum):
    """From good to bad: the worst of several is the verdict of all."""

    VALID = "VALID"
    UNKNOWN = "UNKNOWN"
    INVALID = "INVALID"

    @property
    def exit_code(self) -> int:
        """Of a command that came to this verdict."""
        return {Verdict.VALID: 0, Verdict.UNKNOWN: 20, Verdict.INVALID: 10}[self]


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict of all; of nothing, UNKNOWN."""
    return max(verdicts, key=list(Verdict).index, default=Verdict.UNKNOWN)


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """One side of a double allocation: a claim and how long it held the device."""

    uid: str
    namespace: str
    name: str
    held_from_rv: int
    held_until_rv: int | None
    """None: to the end of the history."""
    pods: list[str]
    """The pods it was reserved for while it held the device."""
    allocated_ts_ns: int
    """When the recorder saw the allocation; for display only."""
    released_ts_ns: int | None


class DoubleAllocation(msgspec.Struct, frozen=True, kw_only=True):
    """One device that two claims held at once."""

    device: str
    overlap_from_rv: int
    overlap_until_rv: int | None
    """None: to the end of the history."""
    holders: list[Holder]
    """The earlier one first."""
    text: str
    """What happened, in words."""


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one check found."""

    check: str
    verdict: Verdict
    examined_count: int
    violation_count: int
    """Exact, however many are listed."""
    violations: list[DoubleAllocation]
    """In full: the first ones, the longest, the last."""
    others: list[str]
    """The rest in short, up to a limit."""
    reason: str
