"""Analyses logs: reads them once, and says which devices two claims had at a time, and why.

A gap in a log proves nothing: the line in which the first claim lost the device may be missing.
So a line must show that it had the device later, or the gather for the second claim must have
missed it, with no sign that lines are missing around. Anything else is undecided.
"""

import pathlib
from collections import Counter
from collections.abc import Sequence

from harness.log_analysis import analysis_results, log_files, merging, signatures, text_blocks
from harness.log_analysis.analysis_results import Analysis, Finding
from harness.log_analysis.double_allocations import ClaimLines, DoubleAllocation, precedes
from harness.log_analysis.log_states import LogState
from harness.log_analysis.messages import Gap, Message
from harness.log_analysis.signatures import Cause, Signature

KEPT = 32 * 2**20
"""Bytes of text that are kept, for all files together."""
_KEPT_MIN = 2**22
_STATES_MAX = 64
"""Number of scheduler processes that can be distinguished."""
_STALE_READS = frozenset(
    (Signature.EARLY_RETURN, Signature.GATHER, Signature.ACCOUNTING, Signature.LOST_ANSWER)
)


def analyse(names: Sequence[str], *, folder: pathlib.Path | None = None) -> Analysis:
    """Read logs and analyse them; `-` is standard input, and names may be relative to a folder.

    Raises UsageError for a file that is missing or cannot be opened.
    """
    paths = [name if folder is None else str(folder / name) for name in names]
    for path in paths:
        log_files.require_readable(path)
    kept, is_only = max(KEPT // len(names), _KEPT_MIN), len(names) == 1
    files = [
        text_blocks.LogText(name, kept_bytes=kept, is_only=is_only, path=path)
        for name, path in zip(names, paths, strict=True)
    ]
    return _concluded(files, _read(files))


def _read(files: Sequence[text_blocks.LogText]) -> list[LogState]:
    states: list[LogState] = []
    of_process: dict[tuple[str, str, bytes], LogState] = {}
    for order, (log, record) in enumerate(merging.merged(files)):
        record.order = order
        process = log, record.process, record.source
        is_new = process not in of_process or record.message is Message.STARTED
        if is_new and len(states) < _STATES_MAX:
            of_process[process] = LogState(str(len(states)))
            states.append(of_process[process])
        if process in of_process:
            of_process[process].see(record)
    for state in states:
        state.end()
    return states


def _concluded(files: Sequence[text_blocks.LogText], states: Sequence[LogState]) -> Analysis:
    counts: Counter[Message] = Counter()
    gaps: Counter[Gap] = Counter()
    allocated: Counter[tuple[str, str]] = Counter()
    for state in states:
        counts.update(state.counts)
        allocated |= state.allocated
    for counted in (*(file.gaps for file in files), *(state.gaps for state in states)):
        gaps.update(counted)
    findings, undecided = [], list[DoubleAllocation]()
    for found in _distinct(states):
        found.is_whole &= not (gaps[Gap.SUPPRESSED] or gaps[Gap.LINE])
        cause = signatures.name(found)
        if _is_shown(found, cause):
            missing = analysis_results.missing(found, cause, counts)
            findings.append(Finding(found, cause, tuple(missing)))
        else:
            undecided.append(found)
    unread = sum(state.found_count - len(state.found) for state in states)
    explained = [(item.found.second.gather, item.found.device) for item in findings]
    return Analysis(
        files=files,
        findings=findings,
        undecided=undecided,
        undecided_count=len({(item.device, item.second.claim) for item in undecided}) + unread,
        stale=[
            stale
            for state in states
            for stale in state.stale
            if (stale.gather, stale.device) not in explained
        ],
        allocations=allocated.total(),
        suspected=[
            (device, (first.claim, second.claim))
            for state in states
            for (device, _), (first, second) in state.suspected.items()
        ],
        counts=counts,
        gaps=gaps,
        versions=sorted({version for state in states for version in state.versions}),
    )


def _distinct(states: Sequence[LogState]) -> list[DoubleAllocation]:
    """Return each pair of claims of a device once, though two schedulers may have seen it."""
    pairs: dict[tuple[str, frozenset[str]], DoubleAllocation] = {}
    for state in states:
        for found in state.found:
            key = (found.device, frozenset((found.first.claim, found.second.claim)))
            pairs[key] = _joined(pairs[key], found) if key in pairs else found
    return sorted(pairs.values(), key=lambda found: found.shown_by.order)


def _joined(one: DoubleAllocation, other: DoubleAllocation) -> DoubleAllocation:
    """Join two schedulers' logs of one pair: each knows how it allocated its own claims."""
    for found in (one, other):
        if found.first.reserved and found.second.reserved:
            return found
    known = [item for found in (one, other) for item in (found.first, found.second)]
    moments = {item.claim: item for item in reversed(known)}
    moments |= {item.claim: item for item in reversed(known) if item.reserved}
    first, second = moments[one.first.claim], moments[one.second.claim]
    if first.reserved and second.reserved and second.reserved.order < first.reserved.order:
        first, second = second, first
    return DoubleAllocation(one.device, first, second, one.shown_by)


def _is_shown(found: DoubleAllocation, cause: Cause) -> bool:
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
