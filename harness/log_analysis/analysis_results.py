"""The result of an analysis: the double allocations in logs, and how much the logs show."""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from harness.log_analysis import log_files, messages, text_blocks
from harness.log_analysis.double_allocations import DoubleAllocation, StaleGather
from harness.log_analysis.messages import Gap, Message
from harness.log_analysis.signatures import Cause, Signature
from harness.model.answers import Verdict

FIXED = "1.32.12, 1.33.8, 1.34.4, 1.35.1 and 1.36"
"""The first releases with the two fixes, which also brought the lines about gathers."""
_ASK = "run the scheduler with -v=6"
_STORED = (Message.WRITTEN, Message.ASSUMED, Message.BOUND)


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """A double allocation and what is behind it."""

    found: DoubleAllocation
    cause: Cause
    missing: Sequence[str]
    """Lines that would have shown more, and how to get them."""


@dataclasses.dataclass(frozen=True, slots=True)
class Analysis:
    """All that logs say about double allocations."""

    files: Sequence[text_blocks.LogText]
    findings: Sequence[Finding]
    undecided: Sequence[DoubleAllocation]
    """Seeming double allocations, without lines that prove them."""
    undecided_count: int
    """Devices and second claims of those, also those that are not kept."""
    stale: Sequence[StaleGather]
    """Gathers that missed a device without a double allocation in the logs."""
    allocations: int
    """Allocations of devices that were seen; devices, not claims."""
    suspected: Sequence[tuple[str, tuple[str, str]]]
    """Devices planned for two claims, where the logs do not show the outcome of both."""
    counts: Counter[Message]
    """Lines by message."""
    gaps: Mapping[Gap, int]
    """Parts that are missing in the logs, or cannot be read, by kind."""
    versions: Sequence[str]
    """Versions of kube-scheduler that were started, as far as the logs show it."""

    @property
    def plans(self) -> int:
        """Allocations that were planned (at Reserve)."""
        return self.counts[Message.RESERVED]

    @property
    def verdict(self) -> Verdict:
        """A double allocation counts whatever else is missing."""
        if self.findings:
            return Verdict.INVALID
        return Verdict.UNKNOWN if self.reasons else Verdict.VALID

    @property
    def reasons(self) -> list[str]:
        """Why nothing can be concluded; empty if something can."""
        return [] if self.findings else [*self._unread(), *self._unshown()]

    def _unread(self) -> Iterator[str]:
        for file in self.files:
            if file.damage:
                name = "standard input" if file.name == log_files.STDIN else file.name
                yield f"{name}: {file.damage}"
        for gap, count in self.gaps.items():
            if count:
                yield f"{gap.counted(count)}: give the whole log, as the scheduler wrote it"
        if self.plans and not self.allocations and not self.counts[Message.PRE_FILTER]:
            yield (
                f"no line “{Message.PRE_FILTER}”, which is written before each plan: give the "
                "whole log, without a filter"
            )

    def _unshown(self) -> Iterator[str]:
        """Yield what logs without a double allocation do not show."""
        if not self.counts:
            if not self.gaps[Gap.LINE]:
                yield (
                    "no line of a scheduler was recognized: expected lines of klog, ktesting or "
                    f"JSON as kube-scheduler writes them at -v=6; {_ASK}"
                )
            return
        if not self.allocations and not self.plans:
            yield f"the log shows no allocation of a device: {_ASK}"
        elif self.undecided:
            one, count = self.undecided[0], self.undecided_count
            many = f"{count:,} devices seem" if count > 1 else "a device seems"
            yield (
                f"{many} to be allocated twice ({one.device} to {one.first.claim} and "
                f"{one.second.claim}), and the log does not show that the first claim still had "
                "it: the line in which it lost the device may be missing, or be of another "
                f"process. Give the whole log of each scheduler in a file of its own; {_ASK}"
            )
        elif self.suspected:
            (device, (first, second)), count = self.suspected[0], len(self.suspected)
            many = f"{count} devices were each" if count > 1 else "a device was"
            yield (
                f"{many} planned for two claims ({device} for {first} and {second}), and the log "
                "does not show whether the first one was released, or the second one stored: "
                f"{_ASK}, and give the whole log"
            )
        elif not self.allocations and not any(self.counts[name] for name in _STORED):
            yield f"the log shows plans for {self.plans} claims only, and no allocation: {_ASK}"
        if not all(stale.is_followed for stale in self.stale):
            yield (
                "a gather missed a device, or may have missed it, and the log ends before it shows "
                "what was allocated then"
            )


def missing(found: DoubleAllocation, cause: Cause, counts: Counter[Message]) -> Iterator[str]:
    """Yield what is missing for a certain signature."""
    if cause.is_certain and cause.signature is not Signature.UNKNOWN:
        return
    for message in (Message.OBSERVED, Message.RESERVED):
        if not counts[message]:
            yield f"no line “{message}”: {_ASK}"
    if not counts[Message.REMOVED]:
        yield (
            f"no line “{Message.REMOVED}”, which newer releases write at -v=5 (those with the "
            f"fixes: {FIXED})"
        )
    if not any(counts[start] for start in messages.GATHER_STARTS):
        yield f"no line “{Message.GATHER_STARTED}”, which newer releases write at -v=6"
    if found.second.reserved is not None and not found.second.is_listing_known:
        yield "no lines of what the gather listed as in flight (-v=6), or they are too far back"
