"""Analyses logs: reads them once, and says which devices two claims had at a time, and why."""

import pathlib
from collections import Counter
from collections.abc import Sequence

from harness.log_analysis import (
    analysis_results,
    log_files,
    merging,
    proofs,
    signatures,
    text_blocks,
)
from harness.log_analysis.analysis_results import Analysis, Finding
from harness.log_analysis.double_allocations import DoubleAllocation
from harness.log_analysis.log_states import LogState
from harness.log_analysis.messages import Gap, Message

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
        if proofs.is_shown(found, cause):
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
