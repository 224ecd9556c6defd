"""A failed run of the smallest scenario: the evidence that the folder shows."""

import dataclasses
import pathlib
import re
from collections.abc import Mapping, Sequence

from harness import regular_files
from harness.checks import judging, verdicts
from harness.history import directories, plans, records, run_folders
from harness.report import evidence
from harness.report.causes import strips
from harness.reproduction.issue import api_writes, involved_objects

LINES_MAX = 120
"""Lines that are kept of one log: the first half and the last half of them."""
LINE_MAX = 400
"""Characters that are kept of one line."""
BYTES_MAX = 256 * 2**20
"""Bytes that are read of one log."""
_LOGS = "scheduler*.log"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LogExcerpt:
    """Lines of one log."""

    name: str
    """Name of the log's process."""
    lines: Sequence[str]
    left_out: int
    """Number of further lines with such a name."""


def of_schedulers(
    directory: directories.RunDirectory, involved: involved_objects.Involved
) -> list[LogExcerpt]:
    pattern = involved.pattern()
    excerpts = [_excerpt(path, pattern) for path in sorted(directory.logs.glob(_LOGS))]
    return [excerpt for excerpt in excerpts if excerpt.lines]


def _excerpt(path: pathlib.Path, pattern: re.Pattern[str]) -> LogExcerpt:
    found = [_shortened(line) for line in _lines(path) if pattern.search(line)]
    if len(found) <= LINES_MAX:
        return LogExcerpt(name=path.stem, lines=found, left_out=0)
    half = LINES_MAX // 2
    kept = [*found[:half], "…", *found[-half:]]
    return LogExcerpt(name=path.stem, lines=kept, left_out=len(found) - 2 * half)


def _lines(path: pathlib.Path) -> list[str]:
    with regular_files.opened(path) as file:
        return file.read(BYTES_MAX).decode(errors="replace").splitlines()


def _shortened(line: str) -> str:
    return line if len(line) <= LINE_MAX else f"{line[: LINE_MAX - 1]}…"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Specimen:
    """The violation of one run with everything that is known of it."""

    plan: plans.Plan
    check: verdicts.CheckResult
    violation: verdicts.Violation
    strip: strips.Strip | None
    """None if the violation is no double allocation."""
    steps: Sequence[records.Step]
    """The scheduler's steps about the claims and the device, in order; empty: there are none."""
    zero_ns: int
    """The time that counts as 0 ms."""
    writes: Sequence[api_writes.ClaimWrite]
    logs: Sequence[LogExcerpt]
    cluster_versions: Mapping[str, str]
    """Component -> version, as detected on the running cluster."""


def read(path: pathlib.Path, check: str) -> Specimen:
    """Read a run that failed this check.

    The violation is the first one that a fault explains, or the first one.
    Raises StopIteration if the run did not fail the check.
    """
    directory = directories.existing(path)
    return of(evidence.Evidence(judging.examine(directory)), check)


def of(source: evidence.Evidence, check: str) -> Specimen:
    """Return the evidence of a run that failed this check; as `read`."""
    directory = source.history.directory
    broken = next(item for item in source.judgement.checks if item.check == check)
    violation = next((item for item in broken.violations if item.faults), broken.violations[0])
    involved = involved_objects.of(violation)
    writes = api_writes.of_claims(source.history.observations() or (), involved)
    steps = _steps(source, violation)
    strip, zero_ns = None, source.started_ns
    if isinstance(violation, verdicts.DoubleAllocation):
        strip, zero_ns = strips.strip(violation, steps), strips.time_zero(violation, steps)
    if strip is None and writes:
        zero_ns = writes[0].ts_ns
    return Specimen(
        plan=source.history.plan,
        check=broken,
        violation=violation,
        strip=strip,
        steps=steps,
        zero_ns=zero_ns,
        writes=writes,
        logs=of_schedulers(directory, involved),
        cluster_versions=run_folders.cluster_versions(directory.path),
    )


def _steps(source: evidence.Evidence, violation: verdicts.Violation) -> Sequence[records.Step]:
    for found, steps in zip(source.double_allocations, source.steps, strict=True):
        if found is violation:
            return steps
    return []
