"""All charts of a run, in the order of the page."""

import collections
import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

from harness.history import histories, records
from harness.report import evidence
from harness.report.charts import binning, device_lanes, latency_charts, series_charts, time_plots

CALL_BINS = 60
NO_ANSWER = "no answer"
_CODES_MAX = series_charts.LINES_MAX - 1


@dataclasses.dataclass(slots=True)
class Calls:
    """When calls were completed, in monotonic nanoseconds."""

    by_code: dict[str, list[int]] = dataclasses.field(
        default_factory=lambda: collections.defaultdict(list)
    )
    """`2xx`, `409`, …, `no answer` -> times."""
    retries: list[int] = dataclasses.field(default_factory=list)
    """Calls of a process that repeat its last one of an object, which had failed."""
    clocks: str = ""
    """How well the times of other hosts are known; empty: all are of the run's clock."""

    @property
    def count(self) -> int:
        """The number of calls."""
        return sum(map(len, self.by_code.values()))


_Target = tuple[str, str, str, str]
"""verb, resource, namespace, name"""


def read(history: histories.History) -> Calls:
    """Read the journals of API calls of all processes."""
    calls = Calls(clocks=history.remote_workers.summary)
    processes = [*history.expected_operations(), *history.expected_writes()]
    for process in dict.fromkeys(processes):
        _add(calls, history.operations(process) or ())
    return calls


def _add(calls: Calls, journal: Iterable[records.Body]) -> None:
    begun: dict[int, records.Invocation] = {}
    failed: set[_Target] = set()
    for record in journal:
        if isinstance(record, records.Invocation):
            begun[record.op] = record
        elif isinstance(record, records.Completion) and record.op in begun:
            call = begun.pop(record.op)
            calls.by_code[_code(record)].append(record.ts_ns)
            target = call.verb, call.resource, call.namespace, call.name
            if target in failed:
                calls.retries.append(call.ts_ns)
                failed.discard(target)
            if record.outcome != "ok":
                failed.add(target)


def _code(record: records.Completion) -> str:
    if record.status is None:
        return NO_ANSWER
    return "2xx" if 200 <= record.status < 300 else str(record.status)


def over_time(axis: time_plots.TimeAxis, calls: Calls) -> list[time_plots.Chart]:
    """Return the chart of all calls, and the one of conflicts, other errors and retries."""
    edges = axis.edges(CALL_BINS)
    good = _series(axis, "2xx", calls.by_code.get("2xx", []), edges)
    note = f"Calls of the load, the kubelets and the subject in each {axis.bin_text(CALL_BINS)}."
    note += f" There are {calls.clocks}." if calls.clocks else ""
    charts = [
        series_charts.area(axis, "Successful API calls over time", good, unit=" calls", note=note)
    ]
    bad = sorted(
        ((code, times) for code, times in calls.by_code.items() if code != "2xx"),
        key=lambda item: (-len(item[1]), item[0]),
    )
    shown = bad[:_CODES_MAX] if len(bad) <= _CODES_MAX else bad[: _CODES_MAX - 1]
    others = [at for _, times in bad[len(shown) :] for at in times]
    series = [_series(axis, _named(code), times, edges) for code, times in shown]
    if others:
        series.append(_series(axis, "other codes", others, edges))
    if calls.retries:
        series.append(_series(axis, "retries", calls.retries, edges))
    if series:
        title = "Conflicts, errors and retries over time"
        words = "A retry repeats a process's last call of the same verb on the same object, which had failed."
        charts.append(series_charts.lines(axis, title, series, unit=" calls", note=words))
    return charts


def _named(code: str) -> str:
    return {"409": "409 conflict", "429": "429 too many requests"}.get(code, code)


def _series(
    axis: time_plots.TimeAxis, name: str, times: Iterable[int], edges: binning.Times
) -> series_charts.Series:
    moments = np.array(list(times), dtype=np.float64) - axis.started_ns
    count = len(moments)
    return series_charts.Series(f"{name} ({count:,})", binning.counts(moments, edges))


BINS = 200


@dataclasses.dataclass(frozen=True, slots=True)
class RunCharts:
    """The charts of a page."""

    devices: time_plots.Chart
    held: time_plots.Chart
    throughput: time_plots.Chart
    waiting: time_plots.Chart
    latencies: Sequence[tuple[str, Sequence[time_plots.Chart]]]
    """Percentiles over time, and all: of claims to their allocation, and of pods to Running."""
    calls: Sequence[time_plots.Chart]


def draw(source: evidence.Evidence) -> RunCharts:
    """Draw the charts of a run."""
    lives = [*source.folded.claims.values(), *source.folded.pods.values()]
    axis = time_plots.axis(
        started_ns=source.started_ns,
        ended_ns=source.ended_ns,
        phases=source.history.phases,
        faults=source.faults,
        first_object_ns=min((life.seen_ns for life in lives), default=None),
    )
    pods = list(source.folded.pods.values())
    claims = source.folded.claims.values()
    return RunCharts(
        devices=device_lanes.devices_over_time(source.holds, axis),
        held=_held(source, axis),
        throughput=_throughput(source, axis),
        waiting=latency_charts.waiting(axis, pods),
        latencies=[
            (
                title,
                latency_charts.latencies(
                    axis, latency_charts.waits(objects, started_ns=source.started_ns), title
                ),
            )
            for title, objects in (
                ("From claim to allocation", claims),
                ("From pod to Running", pods),
            )
        ],
        calls=over_time(axis, read(source.history)),
    )


def _held(source: evidence.Evidence, axis: time_plots.TimeAxis) -> time_plots.Chart:
    begins, ends = (at.astype(np.float64) for at in (source.holds.from_ns, source.holds.until_ns))
    values = binning.highest(begins, ends, axis.edges(BINS))
    note = f"The highest number of holds in each {axis.bin_text(BINS)}."
    series = series_charts.Series("held", values)
    return series_charts.area(axis, "Devices held over time", series, unit=" devices", note=note)


def _throughput(source: evidence.Evidence, axis: time_plots.TimeAxis) -> time_plots.Chart:
    bins = latency_charts.BINS
    edges = axis.edges(bins)
    values = binning.counts(source.holds.from_ns.astype(np.float64), edges)
    rates = values / (np.diff(edges) / 1e9)
    series = series_charts.Series("allocations", rates)
    note = f"Allocations of devices per second, in each {axis.bin_text(bins)}."
    return series_charts.area(axis, "Throughput over time", series, unit="/s", note=note)
