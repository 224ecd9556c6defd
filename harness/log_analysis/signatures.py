"""Names the race behind a double allocation, from the order of its lines.

If none fits, it says which lines are missing. `log_states` decides whether there is a double
allocation.
"""

import dataclasses
import enum
from collections.abc import Iterator, Sequence
from typing import Literal

from harness.log_analysis.double_allocations import DoubleAllocation, precedes
from harness.log_analysis.log_records import LogRecord

Bound = Literal["exactly", "at least", "at most"]


class Signature(enum.StrEnum):
    """The races that a log can show."""

    EARLY_RETURN = "assume-cache early return"
    GATHER = "non-atomic gather"
    ACCOUNTING = "in-flight accounting unbalanced"
    LOST_ANSWER = "lost answer of a status write"
    OTHER = "other"
    UNKNOWN = "cannot tell"


@dataclasses.dataclass(frozen=True, slots=True)
class Window:
    """The time in which the scheduler could miss the device."""

    begin: LogRecord
    end: LogRecord
    bound: Bound
    """How the time between the two lines relates to the window."""
    meaning: str
    """The condition that is true within the window."""

    @property
    def us(self) -> int:
        return self.end.time_us - self.begin.time_us


@dataclasses.dataclass(frozen=True, slots=True)
class Cause:
    """The race behind a double allocation."""

    signature: Signature
    sentences: Sequence[str]
    """Why, with line numbers."""
    is_certain: bool = True
    """True if the order of the lines leaves no other possibility."""
    window: Window | None = None


def at(record: LogRecord | None) -> str:
    """Return where a line is; with its file, if there are several."""
    return f"line {record.number}{record.file.label}" if record else "a line that is missing"


def window_of(
    begin: LogRecord | None, end: LogRecord | None, bound: Bound, meaning: str
) -> Window | None:
    """Return the window between two lines; None if one of them is missing."""
    return Window(begin, end, bound, meaning) if begin and end else None


def find_schedulers(found: DoubleAllocation) -> Cause | None:
    first, second = found.first, found.second
    one, other = first.reserved, second.reserved
    if one is None or other is None:
        return None
    if first.scheduler == second.scheduler and one.thread == other.thread:
        return None
    sentence = (
        f"Two schedulers allocated the device: one {first.claim} ({at(one)}), another "
        f"{second.claim} ({at(other)}). Schedulers do not see each other's in-flight "
        "claims."
    )
    return Cause(Signature.OTHER, [sentence])


def _find_other(found: DoubleAllocation) -> Cause | None:
    """Return the cause if the device was freed, listed or known before the second allocation."""
    sentence = _freed(found) or _listed(found) or _known(found)
    return Cause(Signature.OTHER, [sentence]) if sentence else None


def _freed(found: DoubleAllocation) -> str:
    first, freed = found.first, found.first.freed_by
    if freed is None or not precedes(freed, found.second.reserved):
        return ""
    return (
        f"{freed.value('claim')} was deallocated ({at(freed)}), which took the device "
        f"out of the allocated devices while {first.claim} still had it. The set does not "
        "count holders: an earlier double allocation caused this one."
    )


def _listed(found: DoubleAllocation) -> str:
    for line in found.second.in_flight:
        if line.device == found.device and line.claim == found.first.claim:
            return (
                f"The gather listed the device as in flight for {line.claim} "
                f"({at(line.record)}), and the allocator gave it to {found.second.claim} all the "
                "same: the stale read is none of the gather's."
            )
    return ""


def _known(found: DoubleAllocation) -> str:
    begin, observed = found.gather.begin, found.first.observed
    if not precedes(observed, begin):
        return ""
    return (
        f"The allocated devices had the device ({at(observed)}) before the gather began "
        f"({at(begin)}): none of the known races explains it."
    )


def _find_lost_answer(found: DoubleAllocation) -> Cause | None:
    """Return the cause if the API server stored the first allocation, but its answer was lost.

    The scheduler takes the write for failed, and gives the claim in flight back. Until the event of
    the write arrives, the device looks free. kube-scheduler does so up to 1.36 at least.
    """
    first = found.first
    lines = (first.removed, first.released, first.unanswered)
    before = [line for line in lines if line and precedes(line, found.second.reserved)]
    if first.unanswered is None or not before or first.assumed is not None:
        return None
    if precedes(first.observed, found.gather.begin):
        return None  # The gather found the device among the allocated ones.
    left, known = min(before, key=lambda line: line.order), first.observed or first.written
    lost = (
        f"The answer to the status write of {first.claim} was lost ({at(first.unanswered)}). The "
        f"scheduler took the write for failed, and the claim was not in flight any more ({at(left)})."
    )
    stored = (
        f"The API server had stored the allocation: the device was seen later ({at(known)})."
        if known
        else "The log does not show when the scheduler saw that the API server had stored it."
    )
    bound: Bound = "at least" if left is first.unanswered else "exactly"
    return Cause(
        Signature.LOST_ANSWER,
        [lost, stored],
        is_certain=precedes(left, known),
        window=window_of(left, known, bound, _NOT_IN_FLIGHT),
    )


_NOT_IN_FLIGHT = "the claim was not in flight any more, and its device not yet allocated"
GATHERING = "the gather read the allocated devices, then the in-flight claims"


def _find_gathering(found: DoubleAllocation) -> Cause | None:
    """Return the cause if the device became visible during the gather for the second claim.

    Before kubernetes#136269 the gather was not atomic: a device that moved from the in-flight
    claims to the allocated devices in between was seen in neither.
    """
    gather, observed = found.gather, found.first.observed
    begin, end = gather.begin, gather.finished or found.second.reserved
    if begin is None or end is None or observed is None:
        return None
    if not (precedes(begin, observed) and precedes(observed, end)):
        return None
    if found.first.removed is not None:
        return _by_removal(found, end)
    return _by_listing(found, begin, observed)


def _by_removal(found: DoubleAllocation, end: LogRecord) -> Cause | None:
    first, gather = found.first, found.gather
    if not (precedes(first.observed, first.removed) and precedes(first.removed, end)):
        return None
    during = (
        f"During the gather ({at(gather.begin)} to {at(end)}), the allocated devices got "
        f"the device ({at(first.observed)}), and then {first.claim} left the in-flight claims "
        f"({at(first.removed)})."
    )
    so = (
        "So the gather had read the allocated devices before, and read the in-flight claims "
        "after it: it saw the device in neither."
    )
    bound: Bound = "exactly" if gather.finished else "at most"
    return Cause(
        Signature.GATHER,
        [during, so],
        is_certain=gather.started is not None,
        window=window_of(gather.begin, end, bound, GATHERING),
    )


def _by_listing(found: DoubleAllocation, begin: LogRecord, observed: LogRecord) -> Cause | None:
    """Judge a log without the lines of removals: of a release without the fixes."""
    first, second = found.first, found.second
    if not second.in_flight or any(line.claim == first.claim for line in second.in_flight):
        return None
    if precedes(first.assumed, begin):
        return None
    listed, last = second.in_flight[0].record, second.in_flight[-1].record
    read = (
        f"The gather for {second.claim} began after {at(begin)}. The allocated devices "
        f"got the device after that ({at(observed)}), so the gather had read them "
        f"before. It listed the in-flight claims from {at(listed)} on, without "
        f"{first.claim}."
    )
    unknown = (
        "The log does not show when the claim left the in-flight claims: if it was before "
        f"{at(observed)}, Assume had returned early as well."
    )
    window = window_of(begin, last, "at most", GATHERING)
    return Cause(Signature.GATHER, [read, unknown], is_certain=False, window=window)


_NEITHER = "the device was neither in flight nor among the allocated devices"


def _find_early_return(found: DoubleAllocation) -> Cause | None:
    """Return the cause if the first claim left the claims in flight before its device was seen.

    Before kubernetes#136269, several goroutines delivered the events of the assume cache at a time.
    `Assume` could return while another one had the event that inserts the device: the claim left
    the claims in flight, and the device was in neither of the two.
    """
    if precedes(found.first.observed, found.gather.begin):
        return None  # The gather found the device among the allocated ones.
    return _certain(found) or _likely(found)


def _certain(found: DoubleAllocation) -> Cause | None:
    first, observed = found.first, found.first.observed
    # A pod is bound after PreBind, whose last step removes its claims.
    left = first.removed or first.binding or first.bound
    if not (precedes(left, observed) and precedes(left, found.second.reserved)):
        return None
    how = (
        f"{first.claim} left the in-flight claims ({at(left)})"
        if left is first.removed
        else f"PreBind of {first.pod} had ended, so {first.claim} had left the in-flight claims "
        f"({at(left)}, logged after it)"
    )
    bound: Bound = "exactly" if left is first.removed else "at least"
    return Cause(
        Signature.EARLY_RETURN,
        [
            f"{how} before the allocated devices got its device ({at(observed)}).",
            "So Assume had returned before the event of its update was handled.",
        ],
        window=window_of(left, observed, bound, _NEITHER),
    )


def _likely(found: DoubleAllocation) -> Cause | None:
    """Judge a log without the lines of removals: of a release without the fixes."""
    first, begin = found.first, found.gather.begin
    assumed, observed = first.assumed, first.observed
    if first.removed is not None or not (precedes(assumed, begin) and precedes(begin, observed)):
        return None
    late = (
        f"{first.claim} was assumed ({at(assumed)}), the next attempt began ({at(begin)}), and "
        f"only then the allocated devices got the device ({at(observed)})."
    )
    unknown = (
        "The log does not show when the claim left the in-flight claims. If that was after "
        f"{at(observed)}, it was the non-atomic gather instead."
    )
    window = window_of(assumed, observed, "at most", _NEITHER)
    return Cause(Signature.EARLY_RETURN, [late, unknown], is_certain=False, window=window)


def _find_accounting(found: DoubleAllocation) -> Cause | None:
    first, reserved = found.first, found.second.reserved
    if precedes(first.removed, first.assumed) and precedes(first.removed, reserved):
        left = first.removed
        sentence = (
            f"{first.claim} left the in-flight claims ({at(left)}) before its update was in the "
            f"assume cache ({at(first.assumed)}); it has to leave them after that."
        )
    elif precedes(first.released, first.observed) and precedes(first.released, reserved):
        left = first.released
        sentence = (
            f"The allocation of {first.claim} was given up ({at(left)}), but the API server had "
            f"stored it: the device was seen later ({at(first.observed)})."
        )
    else:
        return None
    window = window_of(left, first.observed or first.assumed, "exactly", _NOT_IN_FLIGHT)
    return Cause(Signature.ACCOUNTING, [sentence], window=window)


_FINDERS = (
    *(find_schedulers, _find_lost_answer, _find_accounting, _find_early_return),
    *(_find_gathering, _find_other),
)


def name(found: DoubleAllocation) -> Cause:
    causes = (cause for find in _FINDERS if (cause := find(found)) is not None)
    unknown = Cause(Signature.UNKNOWN, tuple(_reasons(found)), is_certain=False)
    return next(causes, unknown)


def _reasons(found: DoubleAllocation) -> Iterator[str]:
    first, second = found.first, found.second
    for moments in (first, second):
        if moments.reserved is None:
            yield (
                f"The log does not show how {moments.claim} was allocated: by another scheduler, "
                "or the line is missing."
            )
    if second.reserved is not None and found.gather.begin is None:
        yield f"The log does not show the gather for {second.claim}."
    if first.observed is None:
        yield "The log does not show when the allocated devices got the device."
    elif first.reserved is not None and second.reserved is not None:
        yield "The order of the lines matches none of the known races."
