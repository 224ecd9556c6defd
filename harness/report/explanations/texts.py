"""The document as text for people, to be pasted into an issue.

Control characters stay as they are: where it is printed, they are escaped.
"""

import textwrap
from collections.abc import Iterator, Sequence

from harness.report.explanations import excerpts
from harness.report.explanations.documents import (
    DoubleAllocationDocument,
    Explanation,
    StaleGatherDocument,
    StaleRead,
    Window,
)


def _duration(us: int) -> str:
    """Return microseconds with the unit that fits: `94 µs`, `13.508 ms`, `1.200 s`."""
    if abs(us) < 1_000:
        return f"{us} µs"
    if abs(us) < 1_000_000:
        return f"{us / 1e3:.3f} ms"
    return f"{us / 1e6:,.3f} s"


_WIDTH = 100
_LABEL = 10


def lines(explanation: Explanation, *, are_all: bool = True) -> Iterator[str]:
    """Yield the lines of the text; without `are_all` only the first double allocation in full."""
    yield f"{explanation.verdict}: {explanation.summary}"
    yield from _paragraphs("unknown", explanation.reasons)
    if explanation.seen.versions:
        yield from _paragraphs("scheduler", [", ".join(explanation.seen.versions)])
    count = explanation.double_allocation_count
    if count > 1 and not are_all:
        yield from _table(explanation.double_allocations)
    for number, found in enumerate(explanation.double_allocations[: None if are_all else 1], 1):
        yield ""
        yield f"Double allocation {number} of {count}: {signature(found)}"
        yield from of_double_allocation(found)
    for stale in explanation.stale_gathers:
        yield ""
        yield from _of_stale_gather(stale)


def _table(rows: Sequence[DoubleAllocationDocument]) -> Iterator[str]:
    yield "\nDouble allocations; the first one follows in full, --all shows each so"
    width = max(len(found.device) for found in rows)
    for number, found in enumerate(rows, 1):
        claims = f"{found.first.claim}, {found.second.claim}"
        yield f"  {number:>4}  {found.device:<{width}}  {claims}: {signature(found)}"


def window(item: Window) -> str:
    return (
        f"{item.bound} {_duration(item.microseconds)} (lines {item.begin_line} to "
        f"{item.end_line}): {item.meaning}"
    )


def signature(found: DoubleAllocationDocument) -> str:
    if found.is_certain or found.signature == "cannot tell":
        return found.signature
    return f"{found.signature} (likely)"


def of_double_allocation(found: DoubleAllocationDocument) -> Iterator[str]:
    yield from _paragraphs("device", [found.device])
    for rank, claim in (("first", found.first), ("second", found.second)):
        parts = [f"claim {claim.claim}"]
        parts += [f"uid {claim.uid}"] if claim.uid else []
        parts += [f"pod {claim.pod}"] if claim.pod else []
        parts += [f"node {claim.node}"] if claim.node else []
        yield from _paragraphs(rank, [", ".join(parts)])
    yield from _paragraphs("why", [" ".join(found.why)])
    if found.stale_read is not None:
        yield from _paragraphs("stale read", [_stale_read_text(found, found.stale_read)])
    if found.window is not None:
        yield from _paragraphs("window", [window(found.window)])
    yield from _paragraphs("missing", found.missing)
    yield from _excerpt(found.lines)


def _stale_read_text(found: DoubleAllocationDocument, read: StaleRead) -> str:
    count = read.listed_in_flight
    listed = f" It is none of the {count or 0:,} devices that the gather listed as in flight."
    if count == 1:
        listed = " It is not the device that the gather listed as in flight."
    listed *= count is not None
    return (
        f"between lines {read.begin_line} and {read.end_line}, the gather for "
        f"{found.second.claim} did not see the device as in use.{listed}"
    )


def _of_stale_gather(stale: StaleGatherDocument) -> Iterator[str]:
    sure = "" if stale.is_certain else " (likely)"
    yield f"Stale read without a double allocation in the log: {stale.signature}{sure}"
    yield from _paragraphs("device", [stale.device])
    yield from _paragraphs("claim", [stale.claim])
    yield from _paragraphs("why", [" ".join(stale.why)])
    if stale.window is not None:
        yield from _paragraphs("window", [window(stale.window)])
    yield from _excerpt(stale.lines)


def _paragraphs(label: str, texts: Sequence[str]) -> Iterator[str]:
    for text in texts:
        yield from textwrap.wrap(
            text,
            _WIDTH,
            initial_indent=f"  {label:<{_LABEL}}  ",
            subsequent_indent=f"  {'':<{_LABEL}}  ",
            break_long_words=False,
            break_on_hyphens=False,
        )


def _excerpt(shown: Sequence[excerpts.Line]) -> Iterator[str]:
    width = max((len(str(line.number)) for line in shown), default=0)
    before: excerpts.Line | None = None
    for line in shown:
        if before is None or line.log != before.log:
            yield f"\n  {'standard input' if line.log == '-' else line.log}"
        before = line
        yield f"  {'':>{width}}  # {line.meaning}"
        yield f"  {line.number:>{width}}  {line.text}"
