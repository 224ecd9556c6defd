"""Names the race behind a double allocation, from the order of its lines.

If none fits, it says which lines are missing. `log_states` decides whether there is a double
allocation.
"""

import dataclasses
import enum
from collections.abc import Iterator, Sequence
from typing import Literal

from harness.log_analysis.double_allocations import ClaimLines, DoubleAllocation, Gather, precedes
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
        """Its length in microseconds, by the times of the lines."""
        return self.end.time_us - self.begin.time_us


@dataclasses.dataclass(frozen=True, slots=True)
class Cause:
    """The race behind a double allocation."""

    signature: Signature
    is_certain: bool
    """True if the order of the lines leaves no other possibility."""
    sentences: Sequence[str]
    """Why, with line numbers."""
    window: Window | None = None


def _cause_of(
    signature: Signature, *sentences: str, is_certain: bool = True, window: Window | None = None
) -> Cause:
    return Cause(signature, is_certain, sentences, window)


def at(record: LogRecord | None) -> str:
    """Return where a line is; with its file, if there are several."""
    return f"line {record.number}{record.file.label}" if record else "a line that is missing"


def window_of(
    begin: LogRecord | None, end: LogRecord | None, bound: Bound, meaning: str
) -> Window | None:
    """Return the window between two lines; None if one of them is missing."""
    return Window(begin, end, bound, meaning) if begin and end else None


def removal(moments: ClaimLines) -> LogRecord | None:
    """Return a line by which the claim had certainly left the claims in flight.

    A pod is bound after PreBind, whose last step removes its claims.
    """
    return moments.removed or moments.binding or moments.bound


def find_other(found: DoubleAllocation) -> Cause | None:
    """Return the cause if the device was freed, listed or known before the second allocation."""
    return _freed(found) or _listed(found) or _known(found)


def find_schedulers(found: DoubleAllocation) -> Cause | None:
    """Return the cause if two schedulers allocated the device."""
    first, second = found.first, found.second
    one, other = first.reserved, second.reserved
    if one is None or other is None:
        return None
    if first.scheduler == second.scheduler and one.thread == other.thread:
        return None
    return _cause_of(
        Signature.OTHER,
        f"Two schedulers allocated the device: one {first.claim} ({at(one)}), another "
        f"{second.claim} ({at(other)}). Schedulers do not see each other's in-flight "
        "claims.",
    )


def _freed(found: DoubleAllocation) -> Cause | None:
    first, freed = found.first, found.first.freed_by
    if freed is None or not precedes(freed, found.second.reserved):
        return None
    return _cause_of(
        Signature.OTHER,
        f"{freed.value('claim')} was deallocated ({at(freed)}), which took the device "
        f"out of the allocated devices while {first.claim} still had it. The set does not "
        "count holders: an earlier double allocation caused this one.",
    )


def _listed(found: DoubleAllocation) -> Cause | None:
    for line in found.second.in_flight:
        if line.device == found.device and line.claim == found.first.claim:
            return _cause_of(
                Signature.OTHER,
                f"The gather listed the device as in flight for {line.claim} "
                f"({at(line.record)}), and the allocator gave it to {found.second.claim} all the "
                "same: the stale read is none of the gather's.",
            )
    return None


def _known(found: DoubleAllocation) -> Cause | None:
    gather = found.second.gather or Gather()
    if not precedes(found.first.observed, gather.begin):
        return None
    return _cause_of(
        Signature.OTHER,
        f"The allocated devices had the device ({at(found.first.observed)}) before the "
        f"gather began ({at(gather.begin)}): none of the known races explains it.",
    )


_LOST_ANSWER = "the claim was not in flight any more, and its device not yet allocated"


def find_lost_answer(found: DoubleAllocation) -> Cause | None:
    """Return the cause if the API server stored the first allocation, but its answer was lost.

    The scheduler takes the write for failed, and gives the claim in flight back. Until the event of
    the write arrives, the device looks free. kube-scheduler does so up to 1.36 at least.
    """
    first, gather = found.first, found.second.gather or Gather()
    left = _left(first, found.second.reserved)
    if first.unanswered is None or left is None or first.assumed is not None:
        return None
    if precedes(first.observed, gather.begin):
        return None  # The gather found the device among the allocated ones.
    known = first.observed or first.written
    stored = (
        f"The API server had stored the allocation: the device was seen later ({at(known)})."
        if known
        else "The log does not show when the scheduler saw that the API server had stored it."
    )
    return _cause_of(
        Signature.LOST_ANSWER,
        f"The answer to the status write of {first.claim} was lost "
        f"({at(first.unanswered)}). The scheduler took the write for failed, and the "
        f"claim was not in flight any more ({at(left)}).",
        stored,
        is_certain=precedes(left, known),
        window=window_of(
            left, known, "at least" if left is first.unanswered else "exactly", _LOST_ANSWER
        ),
    )


def _left(first: ClaimLines, reserved: LogRecord | None) -> LogRecord | None:
    """Return the first line by which the claim was not in flight, before the second was planned."""
    lines = (first.removed, first.released, first.unanswered)
    before = [line for line in lines if line is not None and precedes(line, reserved)]
    return min(before, key=lambda line: line.order, default=None)


_GATHERING = "the gather read the allocated devices, then the in-flight claims"


def find_gathering(found: DoubleAllocation) -> Cause | None:
    """Return the cause if the device became visible during the gather for the second claim.

    Before kubernetes#136269 the gather was not atomic: a device that moved from the in-flight
    claims to the allocated devices in between was seen in neither.
    """
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
    first: ClaimLines, removed: LogRecord, gather: Gather, end: LogRecord
) -> Cause | None:
    observed, begin = first.observed, gather.begin
    if not (precedes(observed, removed) and precedes(removed, end)):
        return None
    return _cause_of(
        Signature.GATHER,
        f"During the gather ({at(begin)} to {at(end)}), the allocated devices got "
        f"the device ({at(observed)}), and then {first.claim} left the in-flight claims "
        f"({at(removed)}).",
        "So the gather had read the allocated devices before, and read the in-flight claims "
        "after it: it saw the device in neither.",
        is_certain=gather.started is not None,
        window=window_of(begin, end, "exactly" if gather.finished else "at most", _GATHERING),
    )


def _by_listing(found: DoubleAllocation, begin: LogRecord, observed: LogRecord) -> Cause | None:
    """Judge a log without the lines of removals: of a release without the fixes."""
    first, second = found.first, found.second
    if not second.in_flight or any(line.claim == first.claim for line in second.in_flight):
        return None
    if precedes(first.assumed, begin):
        return None
    listed, last = second.in_flight[0].record, second.in_flight[-1].record
    return _cause_of(
        Signature.GATHER,
        f"The gather for {second.claim} began after {at(begin)}. The allocated devices "
        f"got the device after that ({at(observed)}), so the gather had read them "
        f"before. It listed the in-flight claims from {at(listed)} on, without "
        f"{first.claim}.",
        "The log does not show when the claim left the in-flight claims: if it was before "
        f"{at(observed)}, Assume had returned early as well.",
        is_certain=False,
        window=window_of(begin, last, "at most", _GATHERING),
    )


_EARLY_RETURN = "the device was neither in flight nor among the allocated devices"


def find_early_return(found: DoubleAllocation) -> Cause | None:
    """Return the cause if the first claim left the claims in flight before its device was seen.

    Before kubernetes#136269, several goroutines delivered the events of the assume cache at a time.
    `Assume` could return while another one had the event that inserts the device: the claim left
    the claims in flight, and the device was in neither of the two.
    """
    gather = found.second.gather or Gather()
    if precedes(found.first.observed, gather.begin):
        return None  # The gather found the device among the allocated ones.
    return _certain(found) or _likely(found)


def _certain(found: DoubleAllocation) -> Cause | None:
    first, second = found.first, found.second
    left, observed = removal(first), first.observed
    if not (precedes(left, observed) and precedes(left, second.reserved)):
        return None
    how = (
        f"{first.claim} left the in-flight claims ({at(left)})"
        if left is first.removed
        else f"PreBind of {first.pod} had ended, so {first.claim} had left the in-flight claims "
        f"({at(left)}, logged after it)"
    )
    return _cause_of(
        Signature.EARLY_RETURN,
        f"{how} before the allocated devices got its device ({at(observed)}).",
        "So Assume had returned before the event of its update was handled.",
        window=window_of(
            left, observed, "exactly" if left is first.removed else "at least", _EARLY_RETURN
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
    return _cause_of(
        Signature.EARLY_RETURN,
        f"{first.claim} was assumed ({at(assumed)}), the next attempt began "
        f"({at(gather.begin)}), and only then the allocated devices got the device "
        f"({at(observed)}).",
        "The log does not show when the claim left the in-flight claims. If that was after "
        f"{at(observed)}, it was the non-atomic gather instead.",
        is_certain=False,
        window=window_of(assumed, observed, "at most", _EARLY_RETURN),
    )


_ACCOUNTING = "the claim was not in flight any more, and its device not yet allocated"


def find_accounting(found: DoubleAllocation) -> Cause | None:
    """Return the cause if the first claim was not in flight until its update was assumed."""
    first, reserved = found.first, found.second.reserved
    if precedes(first.removed, first.assumed) and precedes(first.removed, reserved):
        return _cause(
            first,
            first.removed,
            f"{first.claim} left the in-flight claims ({at(first.removed)}) before its "
            f"update was in the assume cache ({at(first.assumed)}); it has to leave them "
            "after that.",
        )
    if precedes(first.released, first.observed) and precedes(first.released, reserved):
        return _cause(
            first,
            first.released,
            f"The allocation of {first.claim} was given up ({at(first.released)}), but the "
            f"API server had stored it: the device was seen later ({at(first.observed)}).",
        )
    return None


def _cause(first: ClaimLines, left: LogRecord | None, sentence: str) -> Cause:
    window = window_of(left, first.observed or first.assumed, "exactly", _ACCOUNTING)
    return _cause_of(Signature.ACCOUNTING, sentence, window=window)


_FINDERS = (
    *(find_schedulers, find_lost_answer, find_accounting, find_early_return),
    *(find_gathering, find_other),
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
