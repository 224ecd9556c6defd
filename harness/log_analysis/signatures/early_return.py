"""The assume cache returned before its effects were visible.

Before kubernetes#136269, several goroutines delivered the events of the assume cache at a time.
`Assume` could return while another one had the event that inserts the device: the claim left the
claims in flight, and the device was in neither of the two.
"""

from harness.log_analysis.claim_moments import Gather, precedes
from harness.log_analysis.double_allocations import DoubleAllocation
from harness.log_analysis.signatures import causes
from harness.log_analysis.signatures.causes import Cause, Signature

_MEANING = "the device was neither in flight nor among the allocated devices"


def find(found: DoubleAllocation) -> Cause | None:
    """Return the cause if the first claim left the claims in flight before its device was seen."""
    gather = found.second.gather or Gather()
    if precedes(found.first.observed, gather.begin):
        return None  # The gather found the device among the allocated ones.
    return _certain(found) or _likely(found)


def _certain(found: DoubleAllocation) -> Cause | None:
    first, second = found.first, found.second
    left, observed = causes.removal(first), first.observed
    if not (precedes(left, observed) and precedes(left, second.reserved)):
        return None
    how = (
        f"{first.claim} left the in-flight claims ({causes.at(left)})"
        if left is first.removed
        else f"PreBind of {first.pod} had ended, so {first.claim} had left the in-flight claims "
        f"({causes.at(left)}, logged after it)"
    )
    return Cause(
        Signature.EARLY_RETURN,
        is_certain=True,
        sentences=(
            f"{how} before the allocated devices got its device ({causes.at(observed)}).",
            "So Assume had returned before the event of its update was handled.",
        ),
        window=causes.window(
            left, observed, "exactly" if left is first.removed else "at least", _MEANING
        ),
    )


def _likely(found: DoubleAllocation) -> Cause | None:
    """Judge a log without the lines of removals: of a release without the fixes."""
    first, gather = found.first, found.second.gather or Gather()
    assumed, observed = first.assumed, first.observed
    if first.removed is not None or not (
        precedes(assumed, gather.begin) and precedes(gather.begin, observed)
    ):
        return None
    return Cause(
        Signature.EARLY_RETURN,
        is_certain=False,
        sentences=(
            (
                f"{first.claim} was assumed ({causes.at(assumed)}), the next attempt began "
                f"({causes.at(gather.begin)}), and only then the allocated devices got the device "
                f"({causes.at(observed)})."
            ),
            (
                "The log does not show when the claim left the in-flight claims. If that was after "
                f"{causes.at(observed)}, it was the non-atomic gather instead."
            ),
        ),
        window=causes.window(assumed, observed, "at most", _MEANING),
    )
