"""An analysis of logs as one document: its JSON form is the published one."""

import dataclasses
from collections.abc import Sequence
from typing import Literal

from harness.checks import verdicts
from harness.log_analysis import analysis_results, signatures
from harness.log_analysis.double_allocations import ClaimLines, DoubleAllocation, StaleGather
from harness.log_analysis.messages import Message
from harness.model import answers
from harness.report.explanations import excerpts

SCHEMA: Literal[2] = 2


@dataclasses.dataclass(frozen=True, slots=True)
class Log:
    """A log that was read."""

    name: str
    bytes: int
    """Its size, decompressed, as far as it was read."""
    damage: str | None
    """Why it was not read to its end."""


@dataclasses.dataclass(frozen=True, slots=True)
class Seen:
    """How much the logs show."""

    allocations: int
    """Devices that the scheduler saw allocated, one for each claim."""
    deallocations: int
    plans: int
    """Allocations that it planned, at Reserve."""
    shares: int
    """Allocations of shares of a device; several claims may have those of one device."""
    versions: Sequence[str]
    """Versions of kube-scheduler, as far as it logs its start."""


@dataclasses.dataclass(frozen=True, slots=True)
class Claim:
    """One of the two claims."""

    claim: str
    """`namespace/name`."""
    uid: str | None
    pod: str | None
    node: str | None


@dataclasses.dataclass(frozen=True, slots=True)
class Window:
    """The time in which the scheduler could miss the device."""

    microseconds: int
    """Time between the two lines."""
    bound: signatures.Bound
    """How long the window was, compared with it."""
    begin_line: int
    end_line: int
    meaning: str


@dataclasses.dataclass(frozen=True, slots=True)
class StaleRead:
    """The gather for the second claim, which did not see the device of the first."""

    log: str
    begin_line: int
    end_line: int
    listed_in_flight: int | None
    """Devices that it listed as in flight; None if those lines are missing."""


@dataclasses.dataclass(frozen=True, slots=True)
class DoubleAllocationDocument:
    """Two claims that have one device at a time."""

    device: str
    """`driver/pool/device`."""
    first: Claim
    second: Claim
    signature: signatures.Signature
    is_certain: bool
    """True if the order of the lines leaves no other possibility."""
    why: Sequence[str]
    stale_read: StaleRead | None
    window: Window | None
    missing: Sequence[str]
    """Lines that the logs lack, which would have shown more."""
    lines: Sequence[excerpts.Line]
    """The lines about both claims."""


@dataclasses.dataclass(frozen=True, slots=True)
class StaleGatherDocument:
    """A gather that missed a device, without a double allocation in the logs."""

    device: str
    claim: str
    is_certain: bool
    """False if the logs do not show what the gather found."""
    signature: Literal["non-atomic gather"]
    why: Sequence[str]
    window: Window | None
    lines: Sequence[excerpts.Line]


@dataclasses.dataclass(frozen=True, slots=True)
class Explanation:
    """All that the logs say."""

    schema: Literal[2]
    verdict: answers.Verdict
    exit_code: int
    summary: str
    logs: Sequence[Log]
    seen: Seen
    double_allocation_count: int
    double_allocations: Sequence[DoubleAllocationDocument]
    """All of them, or those among the first thousand of each scheduler."""
    undecided_count: int
    """Allocations that seem to be double, without lines that prove it."""
    stale_gathers: Sequence[StaleGatherDocument]
    reasons: Sequence[str]
    """Why nothing can be concluded; empty if something can."""


def document(analysis: analysis_results.Analysis) -> Explanation:
    return Explanation(
        schema=SCHEMA,
        verdict=analysis.verdict,
        exit_code=analysis.verdict.exit_code,
        summary=_summary(analysis),
        logs=[Log(file.name, file.size, file.damage or None) for file in analysis.files],
        seen=Seen(
            allocations=analysis.allocations,
            deallocations=analysis.counts[Message.FREED],
            plans=analysis.plans,
            shares=analysis.counts[Message.SHARED],
            versions=list(analysis.versions),
        ),
        double_allocation_count=len(analysis.findings),
        double_allocations=[_of_finding(finding) for finding in analysis.findings],
        undecided_count=analysis.undecided_count,
        stale_gathers=[_of_stale(stale) for stale in analysis.stale],
        reasons=analysis.reasons,
    )


def _summary(analysis: analysis_results.Analysis) -> str:
    seen = _counted(analysis.allocations, "allocation of a device", "allocations of devices")
    if not analysis.allocations:
        seen = _counted(analysis.plans, "planned allocation", "planned allocations")
    if analysis.findings:
        count, doubtful = len(analysis.findings), analysis.undecided_count
        found = _counted(count, "double allocation", "double allocations")
        meant = verdicts.meant_pairs(count, analysis.allocations or analysis.plans)
        more = f"; {doubtful:,} more cannot be decided" if doubtful else ""
        return f"{found}{meant} among {seen}{more}"
    if analysis.verdict is answers.Verdict.UNKNOWN:
        shown = seen if analysis.allocations or analysis.plans else "no allocation of a device"
        return f"inconclusive; the logs show {shown}"
    return f"no double allocation among {seen}"


def _counted(count: int, one: str, many: str) -> str:
    if not count:
        return f"no {one}"
    return f"{count:,} {one if count == 1 else many}"


def _of_finding(finding: analysis_results.Finding) -> DoubleAllocationDocument:
    found, cause = finding.found, finding.cause
    return DoubleAllocationDocument(
        device=found.device,
        first=_claim(found.first),
        second=_claim(found.second),
        signature=cause.signature,
        is_certain=cause.is_certain,
        why=list(cause.sentences),
        stale_read=_stale_read(found),
        window=_window(cause.window),
        missing=list(finding.missing),
        lines=excerpts.of_told(found.told()),
    )


def _claim(moments: ClaimLines) -> Claim:
    return Claim(moments.claim, moments.uid or None, moments.pod or None, moments.node or None)


def _window(window: signatures.Window | None) -> Window | None:
    if window is None:
        return None
    return Window(window.us, window.bound, window.begin.number, window.end.number, window.meaning)


def _stale_read(found: DoubleAllocation) -> StaleRead | None:
    second = found.second
    begin = second.gather.begin if second.gather else None
    end = (second.gather.finished if second.gather else None) or second.reserved
    if begin is None or end is None:
        return None
    listed = len(second.in_flight) if second.is_listing_known else None
    return StaleRead(begin.file.name, begin.number, end.number, listed)


def _of_stale(stale: StaleGather) -> StaleGatherDocument:
    missed = stale.missed
    begin, left = stale.gather.begin, missed.removed
    happened = (
        f"During the gather that began at {signatures.at(begin)}, the allocated devices got the device "
        f"({signatures.at(missed.observed)}), and then {missed.claim} left the in-flight claims "
        f"({signatures.at(left)})."
    )
    found = (
        "The gather found the device in neither."
        if stale.is_certain
        else "The log ends before it shows what the gather found: if it had read the allocated "
        "devices before and the in-flight claims after that, it found the device in neither."
    )
    after = "What was planned with it did not take the device."
    end = stale.gather.finished or (stale.in_flight[-1].record if stale.in_flight else left)
    window = signatures.window_of(begin, end, "at most", signatures.GATHERING)
    return StaleGatherDocument(
        stale.device,
        missed.claim,
        stale.is_certain,
        "non-atomic gather",
        [happened, found, *([after] if stale.is_followed else [])],
        _window(window),
        excerpts.of_told(stale.told()),
    )
