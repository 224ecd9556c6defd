"""Figures of a run: counts, rates, latencies, memory; `model.figures` documents their names.

Tables, charts and comparisons show them. No verdict depends on them but by thresholds.
"""

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from harness.checks import device_exclusivity, protocol, verdicts
from harness.checks.evidence import contention, journal_totals
from harness.checks.holds import hold_history
from harness.checks.nodes import preparations
from harness.checks.progress import claim_progress, resource_leaks
from harness.history import records
from harness.model import naming

MARKS = (1_000, 10_000, 100_000)
"""Numbers of pods at which the memory is compared."""
_MIB = 2**20


class ProcessMemory(msgspec.Struct, frozen=True, kw_only=True):
    """Memory of one process, with its descendants."""

    process: str
    mib: dict[int, float]
    """Number of pods that had run -> resident memory in MiB, for the marks that were reached."""
    most_mib: float
    """The largest sample of the run."""


def memory_of(processes: Iterable[records.Body]) -> list[ProcessMemory]:
    samples: dict[str, list[records.MemoryUsed]] = {}
    for item in processes:
        if isinstance(item, records.MemoryUsed):
            samples.setdefault(item.process, []).append(item)
    return [_of_process(name, found) for name, found in samples.items()]


def _of_process(name: str, samples: Sequence[records.MemoryUsed]) -> ProcessMemory:
    mib = [(item.pods_ran, round(item.resident_bytes / _MIB, 1)) for item in samples]
    reached = {mark: [used for ran, used in mib if ran >= mark][:1] for mark in MARKS}
    return ProcessMemory(
        process=name,
        mib={mark: used for mark, found in reached.items() for used in found},
        most_mib=max(used for _, used in mib),
    )


def memory_lines(memory: Iterable[ProcessMemory]) -> list[str]:
    """Return a line for each process that has samples at two marks or more: `scheduler: …`."""
    return [
        f"{item.process}: {', '.join(f'{mib:g} MiB at {mark:,} pods' for mark, mib in item.mib.items())}"
        for item in memory
        if len(item.mib) > 1
    ]


class PeakMemory(msgspec.Struct, frozen=True, kw_only=True):
    """The largest samples of memory, in MiB; None without a sample."""

    scheduler_mib: float | None = None
    """Of several schedulers, the largest."""
    api_server_mib: float | None = None
    """With its etcd, if the run starts one."""
    harness_mib: float | None = None
    """Recorder, kubelets and load together, each at its largest."""


def peaks(memory: Iterable[ProcessMemory]) -> PeakMemory:
    most: dict[str, float] = {}
    for item in memory:
        name = naming.first_incarnation(item.process)
        most[name] = max(item.most_mib, most.get(name, 0.0))
    subject = {name for name in most if name.startswith(naming.scheduler(0))}
    harness = most.keys() - subject - {_API_SERVER, naming.CLAIM_CONTROLLER}
    return PeakMemory(
        scheduler_mib=max((most[name] for name in subject), default=None),
        api_server_mib=most.get(_API_SERVER),
        harness_mib=round(sum(most[name] for name in sorted(harness)), 1) if harness else None,
    )


_API_SERVER = "api-server"
QUANTILES = (0.5, 0.9, 0.99, 1.0)


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """Quantiles of a duration, in milliseconds; all None if nothing was measured."""

    count: int
    p50_ms: float | None = None
    p90_ms: float | None = None
    p99_ms: float | None = None
    max_ms: float | None = None


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of a run."""

    claims: int
    pods: int
    pods_running: int
    allocations: int
    devices: int
    """Devices that were held at least once."""
    devices_used_again: int
    """Holds of a device that another claim had held before."""
    double_allocations: int
    stuck: int
    """Pods that could go on and did not, and what was leaked; 0 too if that was not judged."""
    violations: int
    """Violations of all checks, including the double allocations and what is stuck."""
    api_calls: int
    api_errors: dict[str, int]
    """`verb resource status reason` -> calls that did not succeed."""
    seconds: float | None
    """Seconds from the first phase of the run to its last; None without phases."""
    scheduling_seconds: float | None
    """Seconds from the first allocation to the last; None with fewer than two."""
    allocations_per_s: float | None
    """Rate over `scheduling_seconds`."""
    pods_per_s: float | None = None
    """Pods that became Running a second, from the first to the last."""
    calls_per_s: float | None = None
    """API calls a second, over `seconds`."""
    error_rate: float | None = None
    """Share of the API calls that failed, from 0 to 1; None without calls."""
    conflict_rate: float | None = None
    """Share of the API calls that met a conflict."""
    claim_to_allocation: Latency
    pod_to_bound: Latency = Latency(count=0)
    pod_to_running: Latency
    peak_memory: PeakMemory = PeakMemory()
    memory: list[ProcessMemory] = []
    """Memory of the processes of the run; empty if it was not recorded."""
    prepared_claims: preparations.Preparations | None = None
    """Claims prepared on nodes; None if the plan expects no record of them."""
    changed_pools: journal_totals.PoolChanges | None = None
    """Changes of device pools; None if the plan has none."""


def measure(evidence: protocol.Evidence, answers: Sequence[verdicts.Answer]) -> Figures:
    history, folded = evidence.history, evidence[hold_history.HoldHistory]
    operations = evidence[journal_totals.Operations]
    prepared, changed = evidence[preparations.Reading], evidence[journal_totals.PoolReading]
    counts = {
        answer.check: answer.violation_count
        for answer in answers
        if isinstance(answer, verdicts.CheckResult)
    }
    span_ns = _span_ns(folded.holds.column("from_ts_ns"))
    ran_ns = [life.ready_ns for life in folded.pods.values() if life.ready_ns is not None]
    seconds = _seconds(_span_ns([phase.ts_ns for phase in history.phases]))
    memory = memory_of(history.processes.records if history.processes else ())
    return Figures(
        claims=len(folded.claims),
        pods=len(folded.pods),
        pods_running=folded.pods_running,
        allocations=len(folded.holds),
        devices=folded.holds.device_count,
        devices_used_again=contention.reuse(folded),
        double_allocations=counts.get(device_exclusivity.CHECK.name, 0),
        stuck=counts.get(claim_progress.CHECK.name, 0)
        + counts.get(resource_leaks.RESOURCE_LEAKS.name, 0),
        violations=sum(counts.values()),
        api_calls=operations.calls,
        api_errors=operations.errors,
        seconds=seconds,
        scheduling_seconds=_seconds(span_ns),
        allocations_per_s=_per_s(len(folded.holds), span_ns),
        pods_per_s=_per_s(len(ran_ns), _span_ns(ran_ns)),
        calls_per_s=round(operations.calls / seconds, 1) if seconds else None,
        error_rate=_share(sum(operations.errors.values()), operations.calls),
        conflict_rate=_share(operations.conflicts, operations.calls),
        claim_to_allocation=latency(life.waited_ns for life in folded.claims.values()),
        pod_to_bound=latency(life.until_bound_ns for life in folded.pods.values()),
        pod_to_running=latency(life.waited_ns for life in folded.pods.values()),
        peak_memory=peaks(memory),
        memory=memory,
        prepared_claims=prepared.totals if history.plan.expected_preparations else None,
        changed_pools=changed.totals if history.plan.pool_changes else None,
    )


def _span_ns(times: Sequence[int] | npt.NDArray[np.int64]) -> int | None:
    return int(np.max(times) - np.min(times)) if len(times) > 1 else None


def _seconds(span_ns: int | None) -> float | None:
    return None if span_ns is None else round(span_ns / 1e9, 3)


def _per_s(count: int, span_ns: int | None) -> float | None:
    return round(count / (span_ns / 1e9), 1) if span_ns else None


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 6) if whole else None


def latency(waits_ns: Iterable[int | None]) -> Latency:
    waits = [waited for waited in waits_ns if waited is not None]
    if not waits:
        return Latency(count=0)
    p50, p90, p99, top = (round(float(value) / 1e6, 1) for value in np.quantile(waits, QUANTILES))
    return Latency(count=len(waits), p50_ms=p50, p90_ms=p90, p99_ms=p99, max_ms=top)
