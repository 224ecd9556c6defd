"""Analyses logs: reads them once, and says which devices two claims had at a time, and why."""

import collections
import dataclasses
import pathlib
from collections import Counter
from collections.abc import Iterator, Sequence

from harness.log_analysis import (
    log_files,
    merging,
    messages,
    proofs,
    signatures,
    text_blocks,
    write_failures,
)
from harness.log_analysis.analysis_results import Analysis, Failures, Finding
from harness.log_analysis.double_allocations import DoubleAllocation
from harness.log_analysis.log_states import LogState
from harness.log_analysis.messages import Gap, Message
from harness.log_analysis.signatures import Cause, Signature

FIXED = "1.32.12, 1.33.8, 1.34.4, 1.35.1 and 1.36"
"""The first releases with the two fixes, which also brought the lines about gathers."""
_ASK = "run the scheduler with -v=6"


def of_finding(found: DoubleAllocation, cause: Cause, counts: Counter[Message]) -> Iterator[str]:
    """Yield what is missing for a certain signature."""
    if cause.is_certain and cause.signature is not Signature.UNKNOWN:
        return
    if not counts[Message.OBSERVED]:
        yield f"no line “{Message.OBSERVED}”: {_ASK}"
    if not counts[Message.RESERVED]:
        yield f"no line “{Message.RESERVED}”: {_ASK}"
    if not counts[Message.REMOVED]:
        yield (
            f"no line “{Message.REMOVED}”, which newer releases write at -v=5 (those with the "
            f"fixes: {FIXED})"
        )
    if not any(counts[start] for start in messages.GATHER_STARTS):
        yield f"no line “{Message.GATHER_STARTED}”, which newer releases write at -v=6"
    if found.second.reserved is not None and not found.second.is_listing_known:
        yield "no lines of what the gather listed as in flight (-v=6), or they are too far back"


def missing_reasons(analysis: Analysis) -> Iterator[str]:
    """Yield why logs without a double allocation say nothing about it."""
    yield from _unread(analysis)
    if not analysis.counts and analysis.gaps[Gap.LINE]:
        return
    if not analysis.counts:
        yield (
            "no line of a scheduler was recognized: expected lines of klog, ktesting or JSON as "
            f"kube-scheduler writes them at -v=6; {_ASK}"
        )
    elif not analysis.allocations and not analysis.plans:
        yield f"the log shows no allocation of a device: {_ASK}"
    elif analysis.undecided:
        one, count = analysis.undecided[0], analysis.undecided_count
        many = f"{count:,} devices seem" if count > 1 else "a device seems"
        yield (
            f"{many} to be allocated twice ({one.device} to {one.first.claim} and "
            f"{one.second.claim}), and the log does not show that the first claim still had it: the "
            "line in which it lost the device may be missing, or be of another process. Give the "
            f"whole log of each scheduler in a file of its own; {_ASK}"
        )
    elif analysis.suspected:
        (device, (first, second)), count = analysis.suspected[0], len(analysis.suspected)
        many = f"{count} devices were each" if count > 1 else "a device was"
        yield (
            f"{many} planned for two claims ({device} for {first} and {second}), and the log does "
            f"not show whether the first one was released, or the second one stored: {_ASK}, and "
            "give the whole log"
        )
    elif not analysis.allocations and not _are_stored(analysis):
        yield f"the log shows plans for {analysis.plans} claims only, and no allocation: {_ASK}"
    if any(not stale.is_followed for stale in analysis.stale):
        yield (
            "a gather missed a device, or may have missed it, and the log ends before it shows "
            "what was allocated then"
        )


def _unread(analysis: Analysis) -> Iterator[str]:
    for file in analysis.files:
        if file.damage:
            name = "standard input" if file.name == log_files.STDIN else file.name
            yield f"{name}: {file.damage}"
    for gap, count in analysis.gaps.items():
        if count:
            yield f"{gap.counted(count)}: give the whole log, as the scheduler wrote it"
    is_plans_only = analysis.plans and not analysis.allocations
    if is_plans_only and not analysis.counts.get(Message.PRE_FILTER):
        yield (
            f"no line “{Message.PRE_FILTER}”, which is written before each plan: give the whole "
            "log, without a filter"
        )


def _are_stored(analysis: Analysis) -> bool:
    names = (Message.WRITTEN, Message.ASSUMED, Message.BOUND)
    return any(analysis.counts.get(name.value) for name in names)


KEPT = 32 * 2**20
"""Bytes of text that are kept, for all files together."""
_KEPT_MIN = 2**22
_STATES_MAX = 64
"""Number of scheduler processes that can be distinguished."""


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
    counts: collections.Counter[Message] = collections.Counter()
    for state in states:
        counts.update(state.counts)
    gaps: collections.Counter[Gap] = collections.Counter()
    for counted in (*(file.gaps for file in files), *(state.gaps for state in states)):
        gaps.update(counted)
    findings, undecided = [], list[DoubleAllocation]()
    for item in (_finding(found, counts) for found in _distinct(states)):
        item.found.is_whole &= not (gaps[Gap.SUPPRESSED] or gaps[Gap.LINE])
        if proofs.is_shown(item.found, item.cause):
            findings.append(item)
        else:
            undecided.append(item.found)
    unread = sum(state.found_count - len(state.found) for state in states)
    explained = [(item.found.second.gather, item.found.device) for item in findings]
    allocated: Counter[tuple[str, str]] = Counter()
    for state in states:
        allocated |= state.allocated
    analysis = Analysis(
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
        plans=counts[Message.RESERVED],
        shares=counts[Message.SHARED],
        releases=counts[Message.FREED],
        suspected=[
            (device, (first.claim, second.claim))
            for state in states
            for (device, _), (first, second) in state.suspected.items()
        ],
        counts={message.value: count for message, count in counts.items()},
        gaps=gaps,
        versions=sorted({version for state in states for version in state.versions}),
        failures=[*_failures(states)],
    )
    reasons = () if findings else tuple(missing_reasons(analysis))
    return dataclasses.replace(analysis, reasons=reasons)


def _failures(states: Sequence[LogState]) -> Iterator[Failures]:
    for kind in write_failures.Kind:
        count = sum(state.failures.counts[kind] for state in states)
        lines = [line for state in states for line in state.failures.lines.get(kind, ())]
        if count:
            lines.sort(key=lambda line: line.order)
            yield Failures(kind, count, lines[: write_failures.LINES_MAX])


def _finding(found: DoubleAllocation, counts: collections.Counter[Message]) -> Finding:
    cause = signatures.name(found)
    return Finding(found, cause, tuple(of_finding(found, cause, counts)))


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
    moments = {}
    for claim in (one.first.claim, one.second.claim):
        known = [item for found in (one, other) for item in (found.first, found.second)]
        of_claim = [item for item in known if item.claim == claim]
        moments[claim] = next((item for item in of_claim if item.reserved), of_claim[0])
    first, second = moments[one.first.claim], moments[one.second.claim]
    if first.reserved and second.reserved and second.reserved.order < first.reserved.order:
        first, second = second, first
    return DoubleAllocation(one.device, first, second, one.shown_by)
