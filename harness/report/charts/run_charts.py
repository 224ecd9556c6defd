"""All charts of a run, in the order of the page."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from harness.report import evidence
from harness.report.charts import (
    api_calls,
    binning,
    device_lanes,
    latency_charts,
    series_charts,
    time_plots,
)

BINS = 200


@dataclasses.dataclass(frozen=True, slots=True)
class RunCharts:
    """The charts of a page."""

    devices: time_plots.Chart
    held: time_plots.Chart
    throughput: time_plots.Chart
    waiting: time_plots.Chart
    latencies: Sequence[tuple[str, Sequence[time_plots.Chart]]]
    """Of claims to their allocation, of pods to Running: percentiles over time, and all."""
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
        calls=api_calls.over_time(axis, api_calls.read(source.history)),
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
