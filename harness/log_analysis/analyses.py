"""Analyses logs: reads them once, and says which devices two claims had at a time, and why."""

import collections
import dataclasses
import pathlib
from collections.abc import Iterator, Sequence

from harness.log_analysis import (
    log_files,
    merging,
    missing_lines,
    text_blocks,
    write_failures,
)
from harness.log_analysis.analysis_results import Analysis, Failures, Finding
from harness.log_analysis.double_allocations import DoubleAllocation
from harness.log_analysis.gaps import Gap
from harness.log_analysis.messages import Message
from harness.log_analysis.signatures import naming
from harness.log_analysis.stories import Story

KEPT = 32 * 2**20
"""Bytes of text that are kept, for all files together."""
_KEPT_MIN = 2**22
_STORIES_MAX = 64
"""Scheduler processes that are told apart."""


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


def _read(files: Sequence[text_blocks.LogText]) -> list[Story]:
    stories: dict[tuple[int, str], Story] = {}
    story, log, process = None, -1, ""
    for order, (its_log, record) in enumerate(merging.merged(files)):
        record.order = order
        if its_log != log or record.process != process:
            log, process = its_log, record.process
            story = _story(stories, log, process)
        if story is not None:
            story.see(record)
    for story in stories.values():
        story.end()
    return list(stories.values())


def _story(stories: dict[tuple[int, str], Story], log: int, process: str) -> Story | None:
    """Return the story of a process; None if there are too many of them."""
    key = log, process
    if key not in stories and len(stories) < _STORIES_MAX:
        stories[key] = Story(f"process {process}" if process else f"log {log + 1}")
    return stories.get(key)


def _concluded(files: Sequence[text_blocks.LogText], stories: Sequence[Story]) -> Analysis:
    counts: collections.Counter[Message] = collections.Counter()
    for story in stories:
        counts.update(story.counts)
    gaps: collections.Counter[Gap] = collections.Counter()
    for counted in (*(file.gaps for file in files), *(story.gaps for story in stories)):
        gaps.update(counted)
    pairs = _distinct(stories)
    findings = [_finding(found, counts) for found in pairs]
    explained = [(found.second.gather, found.device) for found in pairs]
    unread = sum(story.found_count - len(story.found) for story in stories)
    analysis = Analysis(
        files=files,
        findings=findings,
        found_count=len(pairs) + unread,
        stale=[
            stale
            for story in stories
            for stale in story.stale
            if (stale.gather, stale.device) not in explained
        ],
        allocations=counts[Message.OBSERVED],
        plans=counts[Message.RESERVED],
        shares=counts[Message.SHARED],
        releases=counts[Message.FREED],
        suspected=[
            (device, (first.claim, second.claim))
            for story in stories
            for (device, _), (first, second) in story.suspected.items()
        ],
        counts={message.value: count for message, count in counts.items()},
        gaps=gaps,
        versions=sorted({version for story in stories for version in story.versions}),
        failures=[*_failures(stories)],
    )
    reasons = () if findings else tuple(missing_lines.reasons(analysis))
    return dataclasses.replace(analysis, reasons=reasons)


def _failures(stories: Sequence[Story]) -> Iterator[Failures]:
    for kind in write_failures.Kind:
        count = sum(story.failures.counts[kind] for story in stories)
        lines = [line for story in stories for line in story.failures.lines.get(kind, ())]
        if count:
            lines.sort(key=lambda line: line.order)
            yield Failures(kind, count, lines[: write_failures.LINES_MAX])


def _finding(found: DoubleAllocation, counts: collections.Counter[Message]) -> Finding:
    cause = naming.name(found)
    return Finding(found, cause, tuple(missing_lines.of_finding(found, cause, counts)))


def _distinct(stories: Sequence[Story]) -> list[DoubleAllocation]:
    """Return each pair of claims of a device once, though two schedulers may have seen it."""
    pairs: dict[tuple[str, frozenset[str]], DoubleAllocation] = {}
    for story in stories:
        for found in story.found:
            key = (found.device, frozenset((found.first.claim, found.second.claim)))
            pairs[key] = _joined(pairs[key], found) if key in pairs else found
    return sorted(pairs.values(), key=lambda found: found.shown_by.order)


def _joined(one: DoubleAllocation, other: DoubleAllocation) -> DoubleAllocation:
    """Join what two schedulers tell of one pair: each knows how it allocated its own claims."""
    moments = {}
    for claim in (one.first.claim, one.second.claim):
        known = [item for found in (one, other) for item in (found.first, found.second)]
        of_claim = [item for item in known if item.claim == claim]
        moments[claim] = next((item for item in of_claim if item.reserved), of_claim[0])
    first, second = moments[one.first.claim], moments[one.second.claim]
    if first.reserved and second.reserved and second.reserved.order < first.reserved.order:
        first, second = second, first
    return DoubleAllocation(one.device, first, second, one.shown_by)
