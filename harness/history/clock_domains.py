"""The clocks of a load that ran on several hosts, from traffic-workers.jsonl.

Former versions could make such a load; their run directories are still judged. CLOCK_MONOTONIC
counts from the boot of a host, so that times of two hosts cannot be compared. Locust's master
measured by round trips, as NTP does, what to add to the times of each worker. The estimate is for
display; the order of writes comes from their resourceVersions.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from harness import errors
from harness.history import directories, journal_reader, plans, records

_Time = records.Invocation | records.Completion | records.Waited


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ClockDomain:
    """The host and the boot that the times of a process belong to."""

    process: str
    host: str
    boot_id: str
    offset_ns: int
    """Nanoseconds to add to a time of this clock to get one of the run's clock."""
    uncertainty_ns: int
    """Largest error of a time after that."""

    def on_run_clock(self, record: Any) -> Any:
        """Return a record of API calls with its times on the run's clock."""
        if not self.offset_ns or not isinstance(record, _Time):
            return record
        times = {"ts_ns": record.ts_ns + self.offset_ns}
        if isinstance(record, records.Waited):
            times["started_ns"] = record.started_ns + self.offset_ns
        return msgspec.structs.replace(record, **times)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RemoteWorkers:
    """The workers of a load that may run on several hosts."""

    domains: Mapping[str, ClockDomain]
    """Process -> its clock."""
    problems: Sequence[str]
    """One line for each worker that is missing or was lost, and for each contradiction."""

    @property
    def summary(self) -> str:
        """The hosts and how well their clocks are known, as text; empty: there are none."""
        if not self.domains:
            return ""
        hosts = dict.fromkeys(domain.host for domain in self.domains.values())
        worst_ms = max(domain.uncertainty_ns for domain in self.domains.values()) / 1e6
        return (
            f"{len(self.domains)} remote workers on {', '.join(hosts)}, whose times are known to "
            f"± {worst_ms:.3g} ms"
        )


def fold(found: Iterable[records.Body], plan: plans.Plan) -> RemoteWorkers:
    """Return what the records of traffic-workers.jsonl say of the planned workers."""
    joined: dict[str, records.WorkerJoined] = {}
    left: dict[str, records.WorkerLeft] = {}
    problems: list[str] = []
    for record in found:
        match record:
            case records.WorkerJoined() if record.process in joined:
                problems.append(f"{record.process} joined twice")
            case records.WorkerJoined():
                joined[record.process] = record
            case records.WorkerLeft():
                left[record.process] = record
            case _:
                pass
    problems += _problems(joined, left, plan.remote_operations)
    return RemoteWorkers(
        domains={
            name: _domain(record, left.get(name), plan)
            for name, record in joined.items()
            if name in plan.remote_operations
        },
        problems=problems,
    )


def of_directory(directory: directories.RunDirectory) -> Mapping[str, ClockDomain]:
    """Return the clocks of a run by their processes; none if the files are missing or damaged."""
    try:
        found = journal_reader.read(directory.traffic_workers).records
        return fold(found, plans.read(directory.plan)).domains
    except (errors.HarnessError, OSError):
        return {}


def _problems(
    joined: Mapping[str, records.WorkerJoined],
    left: Mapping[str, records.WorkerLeft],
    planned: Sequence[str],
) -> Iterator[str]:
    for name in planned:
        if name not in joined:
            what = f" (the one of {left[name].host}: {left[name].lost})" if name in left else ""
            yield f"{name}: no worker joined{what}"
        elif name not in left:
            yield f"{name} on {joined[name].host} never ended"
        elif left[name].lost:
            yield f"{name} on {left[name].host} was lost: {left[name].lost}"
    for name in joined.keys() - set(planned):
        yield f"{name} joined, which the plan does not name"


def _domain(
    joined: records.WorkerJoined, left: records.WorkerLeft | None, plan: plans.Plan
) -> ClockDomain:
    """Return the clock of a worker: between its two estimates it may have drifted."""
    offset_ns, uncertainty_ns = joined.offset_ns, joined.uncertainty_ns
    if left is not None and left.offset_ns is not None:
        offset_ns = (joined.offset_ns + left.offset_ns) // 2
        drift_ns = abs(joined.offset_ns - left.offset_ns) // 2 + 1
        uncertainty_ns = max(joined.uncertainty_ns, left.uncertainty_ns) + drift_ns
    if joined.boot_id == plan.boot_id and abs(offset_ns) <= uncertainty_ns:
        offset_ns = uncertainty_ns = 0  # the same clock, unless containers have shifted it
    return ClockDomain(
        process=joined.process,
        host=joined.host,
        boot_id=joined.boot_id,
        offset_ns=offset_ns,
        uncertainty_ns=uncertainty_ns,
    )
