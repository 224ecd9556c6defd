"""The gather is not atomic: it reads allocated devices and in-flight claims one after the other.

Before kubernetes#136269, a device that moved from the in-flight claims to the allocated devices in
between was seen in neither.
"""

from harness.log_analysis.claim_moments import ClaimMoments, Gather, precedes
from harness.log_analysis.double_allocations import DoubleAllocation
from harness.log_analysis.log_records import LogRecord
from harness.log_analysis.signatures import causes
from harness.log_analysis.signatures.causes import Cause, Signature

_MEANING = "the gather read the allocated devices, then the in-flight claims"


def find(found: DoubleAllocation) -> Cause | None:
    """Return the cause if the device became visible during the gather for the second claim."""
    first, gather = found.first, found.second.gather or Gather()
    begin, observed = gather.begin, first.observed
    end = gather.finished or found.second.reserved
    if begin is None or end is None or observed is None:
        return None
    if not (precedes(begin, observed) and precedes(observed, end)):
        return None
    if first.removed is not None:
        return _by_removal(first, first.removed, gather, end)
    return _by_listing(found, begin, observed)


def _by_removal(
    first: ClaimMoments, removed: LogRecord, gather: Gather, end: LogRecord
) -> Cause | None:
    """Judge a log that shows when the claim left the claims in flight."""
    observed, begin = first.observed, gather.begin
    if not (precedes(observed, removed) and precedes(removed, end)):
        return None
    return Cause(
        Signature.GATHER,
        is_certain=gather.started is not None,
        sentences=(
            (
                f"During the gather ({causes.at(begin)} to {causes.at(end)}), the allocated devices got "
                f"the device ({causes.at(observed)}), and then {first.claim} left the in-flight claims "
                f"({causes.at(removed)})."
            ),
            (
                "So the gather had read the allocated devices before, and read the in-flight claims "
                "after it: it saw the device in neither."
            ),
        ),
        window=causes.window(begin, end, "exactly" if gather.finished else "at most", _MEANING),
    )


def _by_listing(found: DoubleAllocation, begin: LogRecord, observed: LogRecord) -> Cause | None:
    """Judge a log without the lines of removals: of a release without the fixes."""
    first, second = found.first, found.second
    if not second.in_flight or any(line.claim == first.claim for line in second.in_flight):
        return None
    if precedes(first.assumed, begin):
        return None
    listed, last = second.in_flight[0].record, second.in_flight[-1].record
    return Cause(
        Signature.GATHER,
        is_certain=False,
        sentences=(
            (
                f"The gather for {second.claim} began after {causes.at(begin)}. The allocated devices "
                f"got the device after that ({causes.at(observed)}), so the gather had read them "
                f"before. It listed the in-flight claims from {causes.at(listed)} on, without "
                f"{first.claim}."
            ),
            (
                "The log does not show when the claim left the in-flight claims: if it was before "
                f"{causes.at(observed)}, Assume had returned early as well."
            ),
        ),
        window=causes.window(begin, last, "at most", _MEANING),
    )
