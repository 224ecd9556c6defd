"""A claim left the claims in flight too early: the accounting is unbalanced."""

from harness.log_analysis.claim_moments import ClaimMoments, precedes
from harness.log_analysis.double_allocations import DoubleAllocation
from harness.log_analysis.log_records import LogRecord
from harness.log_analysis.signatures import causes
from harness.log_analysis.signatures.causes import Cause, Signature

_MEANING = "the claim was not in flight any more, and its device not yet allocated"


def find(found: DoubleAllocation) -> Cause | None:
    """Return the cause if the first claim was not in flight until its update was assumed."""
    first, reserved = found.first, found.second.reserved
    if precedes(first.removed, first.assumed) and precedes(first.removed, reserved):
        return _cause(
            first,
            first.removed,
            f"{first.claim} left the in-flight claims ({causes.at(first.removed)}) before its "
            f"update was in the assume cache ({causes.at(first.assumed)}); it has to leave them "
            "after that.",
        )
    if precedes(first.released, first.observed) and precedes(first.released, reserved):
        return _cause(
            first,
            first.released,
            f"The allocation of {first.claim} was given up ({causes.at(first.released)}), but the "
            f"API server had stored it: the device was seen later ({causes.at(first.observed)}).",
        )
    return None


def _cause(first: ClaimMoments, left: LogRecord | None, sentence: str) -> Cause:
    window = causes.window(left, first.observed or first.assumed, "exactly", _MEANING)
    return Cause(Signature.ACCOUNTING, is_certain=True, sentences=(sentence,), window=window)
