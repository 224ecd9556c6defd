"""Chooses the signature of a double allocation; if no one fits, says which lines are missing."""

from collections.abc import Iterator

from harness.log_analysis.claim_moments import Gather
from harness.log_analysis.double_allocations import DoubleAllocation
from harness.log_analysis.signatures import (
    accounting,
    early_return,
    gathering,
    lost_answers,
    others,
)
from harness.log_analysis.signatures.causes import Cause, Signature

_FINDERS = (
    *(others.find_schedulers, lost_answers.find, accounting.find, early_return.find),
    *(gathering.find, others.find),
)


def name(found: DoubleAllocation) -> Cause:
    """Return the race behind a double allocation."""
    for find in _FINDERS:
        cause = find(found)
        if cause is not None:
            return cause
    return Cause(Signature.UNKNOWN, is_certain=False, sentences=tuple(_reasons(found)))


def _reasons(found: DoubleAllocation) -> Iterator[str]:
    first, second = found.first, found.second
    for moments in (first, second):
        if moments.reserved is None:
            yield (
                f"The log does not show how {moments.claim} was allocated: by another scheduler, "
                "or the line is missing."
            )
    if second.reserved is not None and (second.gather or Gather()).begin is None:
        yield f"The log does not show the gather for {second.claim}."
    if first.observed is None:
        yield "The log does not show when the allocated devices got the device."
    elif first.reserved is not None and second.reserved is not None:
        yield "The order of the lines matches none of the known races."
