"""Other reasons for a double allocation that a log can show."""

from harness.log_analysis.claim_moments import Gather, precedes
from harness.log_analysis.double_allocations import DoubleAllocation
from harness.log_analysis.signatures import causes
from harness.log_analysis.signatures.causes import Cause, Signature


def find(found: DoubleAllocation) -> Cause | None:
    """Return the cause if it is one of those in this module."""
    return _freed(found) or _listed(found) or _known(found)


def find_schedulers(found: DoubleAllocation) -> Cause | None:
    """Return the cause if two schedulers allocated the device."""
    first, second = found.first, found.second
    one, other = first.reserved, second.reserved
    if one is None or other is None:
        return None
    if first.scheduler == second.scheduler and one.thread == other.thread:
        return None
    return Cause(
        Signature.OTHER,
        is_certain=True,
        sentences=(
            (
                f"Two schedulers allocated the device: one {first.claim} ({causes.at(one)}), another "
                f"{second.claim} ({causes.at(other)}). Schedulers do not see each other's in-flight "
                "claims."
            ),
        ),
    )


def _freed(found: DoubleAllocation) -> Cause | None:
    first, freed = found.first, found.first.freed_by
    if freed is None or not precedes(freed, found.second.reserved):
        return None
    return Cause(
        Signature.OTHER,
        is_certain=True,
        sentences=(
            (
                f"{freed.value('claim')} was deallocated ({causes.at(freed)}), which took the device "
                f"out of the allocated devices while {first.claim} still had it. The set does not "
                "count holders: an earlier double allocation caused this one."
            ),
        ),
    )


def _listed(found: DoubleAllocation) -> Cause | None:
    for line in found.second.in_flight:
        if line.device == found.device and line.claim == found.first.claim:
            return Cause(
                Signature.OTHER,
                is_certain=True,
                sentences=(
                    (
                        f"The gather listed the device as in flight for {line.claim} "
                        f"({causes.at(line.record)}), and the allocator gave it to {found.second.claim} all the "
                        "same: the stale read is none of the gather's."
                    ),
                ),
            )
    return None


def _known(found: DoubleAllocation) -> Cause | None:
    gather = found.second.gather or Gather()
    if not precedes(found.first.observed, gather.begin):
        return None
    return Cause(
        Signature.OTHER,
        is_certain=True,
        sentences=(
            (
                f"The allocated devices had the device ({causes.at(found.first.observed)}) before the "
                f"gather began ({causes.at(gather.begin)}): none of the known races explains it."
            ),
        ),
    )
