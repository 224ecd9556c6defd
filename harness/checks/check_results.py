"""Which violations a result lists: some in full, more by their summaries, all in the count."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from harness.checks import protocol, verdicts

T = TypeVar("T")
IN_FULL_MAX = 20
"""Violations that are listed in full; the worst and the last one may come on top."""
OTHERS_MAX = 200
"""Violations that are listed by their summaries."""


def verdict(found: Sequence[object], *, is_kept: bool) -> verdicts.Verdict:
    """Return INVALID with violations; without any, VALID if the guarantee was seen to be kept."""
    if found:
        return verdicts.Verdict.INVALID
    return verdicts.Verdict.VALID if is_kept else verdicts.Verdict.UNKNOWN


def of_found(
    check: protocol.Check,
    found: Sequence[T],
    *,
    verdict: verdicts.Verdict,
    examined_count: int,
    violation: Callable[[T], verdicts.Violation],
    summary: Callable[[T], str],
    reason: str,
) -> verdicts.CheckResult:
    """Return the result of a check that found these violations; the first ones are in full."""
    return verdicts.CheckResult(
        check=check.name,
        promise=check.promise,
        verdict=verdict,
        examined_count=examined_count,
        violation_count=len(found),
        violations=[violation(item) for item in found[:IN_FULL_MAX]],
        others=[summary(item) for item in found[IN_FULL_MAX:][:OTHERS_MAX]],
        reason=reason,
    )


def in_full(count: int, worst: int) -> list[int]:
    """Return the positions of the first violations, the worst and the last one, in order.

    `worst` is the position of the worst one; without any violation it does not matter.
    """
    if not count:
        return []
    return sorted({*range(min(IN_FULL_MAX, count)), worst, count - 1})
