"""Latencies of claims and pods over time as percentiles, and the pods that wait."""

import dataclasses
from collections.abc import Iterable

import numpy as np

from harness.checks.holds import hold_history
from harness.report.charts import binning, histograms, series_charts, time_plots

BINS, QUEUE_BINS = 60, 200
SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


@dataclasses.dataclass(frozen=True, slots=True)
class Waits:
    """When objects became ready, and how long it took; nanoseconds since the start of the run."""

    ready_ns: binning.Times
    waited_ns: binning.Floats
    """Same length."""


def waits(lives: Iterable[hold_history.Life], *, started_ns: int) -> Waits:
    """Return the waits of the objects that became ready."""
    found = [
        (life.ready_ns - started_ns, life.waited_ns)
        for life in lives
        if life.ready_ns is not None and life.waited_ns is not None
    ]
    table = np.array(found, dtype=np.float64).reshape(-1, 2)
    return Waits(table[:, 0], table[:, 1])


def latencies(
    axis: time_plots.TimeAxis, found: Waits, title: str
) -> tuple[time_plots.Chart, time_plots.Chart]:
    """Return the percentiles over time, and the histogram."""
    histogram = histograms.durations(found.waited_ns / 1e6, f"{title}, all")
    values = binning.quantiles(
        found.ready_ns, found.waited_ns / 1e6, axis.edges(BINS), tuple(SHARES.values())
    )
    series = [series_charts.Series(name, row) for name, row in zip(SHARES, values, strict=True)]
    note = f"Percentiles of what became ready in each {axis.bin_text(BINS)}."
    return (
        series_charts.lines(axis, f"{title} over time", series, unit=" ms", note=note),
        histogram,
    )


def waiting(axis: time_plots.TimeAxis, pods: Iterable[hold_history.Life]) -> time_plots.Chart:
    """Draw the number of pods that were created and neither Running nor gone."""
    begins, ends = pod_waits(pods, started_ns=axis.started_ns)
    values = binning.highest(begins, ends, axis.edges(QUEUE_BINS))
    note = (
        "Pods that were created and are neither Running nor gone: the highest number in each "
        f"{axis.bin_text(QUEUE_BINS)}."
    )
    series = series_charts.Series("pods waiting", values)
    return series_charts.area(axis, "Pods waiting over time", series, unit=" pods", note=note)


def pod_waits(
    pods: Iterable[hold_history.Life], *, started_ns: int
) -> tuple[binning.Times, binning.Times]:
    """Return when pods began to wait, and when they ended; nanoseconds since the start."""
    begins, ends = [], []
    for life in pods:
        begins.append(life.seen_ns - started_ns)
        left = [at for at in (life.ready_ns, life.gone_ns) if at is not None]
        if left:
            ends.append(min(left) - started_ns)
    return np.array(begins, dtype=np.float64), np.array(ends, dtype=np.float64)
