"""The result of an analysis: the double allocations in logs, and how much the logs show."""

import dataclasses
import enum
from collections.abc import Mapping, Sequence

from harness.log_analysis import text_blocks
from harness.log_analysis.double_allocations import DoubleAllocation, StaleGather
from harness.log_analysis.log_records import LogRecord
from harness.log_analysis.messages import Gap
from harness.log_analysis.signatures import Cause
from harness.log_analysis.write_failures import Kind


class Verdict(enum.StrEnum):
    """The verdict on double allocations in the logs; exit codes as those of `check`."""

    NONE_SEEN = "VALID"
    FOUND = "INVALID"
    UNKNOWN = "UNKNOWN"

    @property
    def exit_code(self) -> int:
        """The exit code of `flake-hunt explain`."""
        return {Verdict.NONE_SEEN: 0, Verdict.FOUND: 10, Verdict.UNKNOWN: 20}[self]


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """A double allocation and what is behind it."""

    found: DoubleAllocation
    cause: Cause
    missing: Sequence[str]
    """Lines that would have shown more, and how to get them."""


@dataclasses.dataclass(frozen=True, slots=True)
class Failures:
    """All failures of one kind."""

    kind: Kind
    count: int
    lines: Sequence[LogRecord]
    """The first of their lines."""


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
    plans: int
    """Allocations that were planned (at Reserve)."""
    shares: int
    """Allocations of shares of a device, which are not judged."""
    releases: int
    suspected: Sequence[tuple[str, tuple[str, str]]]
    """Devices planned for two claims, where the logs do not show the outcome of both."""
    counts: dict[str, int]
    """Lines by message."""
    gaps: Mapping[Gap, int]
    """Parts that are missing in the logs, or cannot be read, by kind."""
    versions: Sequence[str]
    """Versions of kube-scheduler that were started, as far as the logs show it."""
    failures: Sequence[Failures]
    """Failed writes and what else went wrong, by kind; empty if the logs show nothing of it."""
    reasons: Sequence[str] = ()
    """Why nothing can be concluded; empty if something can."""

    @property
    def verdict(self) -> Verdict:
        """A double allocation counts whatever else is missing."""
        if self.findings:
            return Verdict.FOUND
        return Verdict.UNKNOWN if self.reasons else Verdict.NONE_SEEN
