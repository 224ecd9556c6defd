"""A failed run of the smallest scenario: the evidence that the folder shows."""

import dataclasses
import pathlib
from collections.abc import Mapping, Sequence

from harness.checks import judging, verdicts
from harness.history import directories, plans, records
from harness.report import evidence, run_facts
from harness.report.causes import strips
from harness.reproduction.issue import api_writes, involved_objects, log_excerpts


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
    logs: Sequence[log_excerpts.LogExcerpt]
    cluster_versions: Mapping[str, str]
    """Component -> version, as detected on the running cluster."""


def read(path: pathlib.Path, check: str) -> Specimen:
    """Read a run that failed this check.

    The violation is the first one that a fault explains, or the first one.
    Raises StopIteration if the run did not fail the check.
    """
    directory = directories.existing(path)
    return of(evidence.collect(judging.examine(directory)), check)


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
        logs=log_excerpts.of_schedulers(directory, involved),
        cluster_versions=run_facts.cluster_versions(directory),
    )


def _steps(source: evidence.Evidence, violation: verdicts.Violation) -> Sequence[records.Step]:
    for found, steps in zip(source.double_allocations, source.steps, strict=True):
        if found is violation:
            return steps
    return []
