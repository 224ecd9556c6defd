"""Decides whether a log proves that two claims had a device at a time.

A gap in a log proves nothing: the line in which the first claim lost the device may be missing.
So a line must show that it had the device later, or the gather for the second claim must have
missed it, with no sign that lines are missing around. Anything else is undecided.
"""

from harness.log_analysis import signatures
from harness.log_analysis.double_allocations import ClaimLines, DoubleAllocation, precedes
from harness.log_analysis.signatures import Cause, Signature

_STALE_READS = frozenset(
    (Signature.EARLY_RETURN, Signature.GATHER, Signature.ACCOUNTING, Signature.LOST_ANSWER)
)


def is_shown(found: DoubleAllocation, cause: Cause) -> bool:
    """Return whether the lines leave no other possibility than a double allocation."""
    first, second = found.first, found.second
    if found.device not in second.devices:
        return False  # the plan is unknown, or another one
    if first.reserved is None:  # another process planned it
        return found.is_whole and found.freed is None and _is_seen_late(first, second)
    if found.device not in first.devices:
        return False
    if signatures.find_schedulers(found) is not None:  # neither sees the other's memory
        pairs = ((first, second), (second, first))
        return all(precedes(one.written or one.assumed, other.bound) for one, other in pairs)
    is_likely = _is_carried_out(first, second) or _is_missed(found, cause)
    return _is_freed_late(found) or (found.is_whole and is_likely)


def _is_freed_late(found: DoubleAllocation) -> bool:
    """Return whether the claim that had the device lost it after the other one had got it.

    A claim whose pod was tried again may have lost the device and got it once more.
    """
    is_first = found.shown_by.value("claim") != found.first.claim
    holder = found.first if is_first else found.second
    if holder.ended is not None and not found.is_whole:
        return False
    return precedes(holder.observed, found.shown_by) and precedes(found.shown_by, found.freed)


def _is_seen_late(first: ClaimLines, second: ClaimLines) -> bool:
    """Return whether the first claim's device was only seen after the second plan was made."""
    planned = (second.gather and second.gather.finished) or second.reserved
    ends = (second.released, second.unanswered, second.ended)
    return precedes(planned, first.observed) and not any(ends)


def _is_carried_out(first: ClaimLines, second: ClaimLines) -> bool:
    """Return whether the first plan was carried out after the second one was made."""
    ends = (first.released, first.unanswered, first.ended)
    end = min((line.order for line in ends if line is not None), default=None)
    lines = (first.written, first.assumed, first.observed, first.binding, first.bound)
    return precedes(first.reserved, second.reserved) and any(
        line is not None and precedes(second.reserved, line) and (end is None or line.order < end)
        for line in lines
    )


def _is_missed(found: DoubleAllocation, cause: Cause) -> bool:
    """Return whether the gather for the second claim missed a device that was in use."""
    gather, first = found.second.gather, found.first
    if cause.signature not in _STALE_READS or gather is None or gather.begin is None:
        return False
    if precedes(first.observed, gather.begin) or (gather.started and not gather.finished):
        return False
    if gather.devices is not None:
        return found.device not in gather.devices
    return first.claim not in {line.claim for line in found.second.in_flight}
