"""The API server stored an allocation, but its answer was lost.

The scheduler takes the write for failed, and gives the claim in flight back. Until the event of the
write arrives, the device looks free. kube-scheduler does so up to 1.36 at least.
"""

from harness.log_analysis.claim_moments import ClaimMoments, Gather, precedes
from harness.log_analysis.double_allocations import DoubleAllocation
from harness.log_analysis.log_records import LogRecord
from harness.log_analysis.signatures import causes
from harness.log_analysis.signatures.causes import Cause, Signature

_MEANING = "the claim was not in flight any more, and its device not yet allocated"


def find(found: DoubleAllocation) -> Cause | None:
    """Return the cause if the answer to the first claim's write was lost, and it was given back."""
    first, gather = found.first, found.second.gather or Gather()
    left = _left(first, found.second.reserved)
    if first.unanswered is None or left is None or first.assumed is not None:
        return None
    if precedes(first.observed, gather.begin):
        return None  # The gather found the device among the allocated ones.
    known = first.observed or first.written
    stored = (
        f"The API server had stored the allocation: the device was seen later ({causes.at(known)})."
        if known
        else "The log does not show when the scheduler saw that the API server had stored it."
    )
    return Cause(
        Signature.LOST_ANSWER,
        is_certain=precedes(left, known),
        sentences=(
            (
                f"The answer to the status write of {first.claim} was lost "
                f"({causes.at(first.unanswered)}). The scheduler took the write for failed, and the "
                f"claim was not in flight any more ({causes.at(left)})."
            ),
            stored,
        ),
        window=causes.window(
            left, known, "at least" if left is first.unanswered else "exactly", _MEANING
        ),
    )


def _left(first: ClaimMoments, reserved: LogRecord | None) -> LogRecord | None:
    """Return the first line by which the claim was not in flight, before the second was planned."""
    lines = (first.removed, first.released, first.unanswered)
    before = [line for line in lines if line is not None and precedes(line, reserved)]
    return min(before, key=lambda line: line.order, default=None)
