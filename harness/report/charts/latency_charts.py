"""Latencies of claims and pods over time as percentiles, and the pods that wait."""

import dataclasses
from collections.abc import Iterable

import numpy as np

from harness.checks.holds import hold_history
from harness.report import drawing
from harness.report.charts import binning, series_charts, time_plots

HISTOGRAM_BINS = 48
_FLOOR = 108.0


def durations(waits_ms: binning.Floats, title: str) -> time_plots.Chart:
    """Draw a histogram of durations in milliseconds, with the median and the 99th percentile."""
    if not len(waits_ms):
        return time_plots.Chart(title, "", ("ms", "count"), [], note="Nothing was measured.")
    top = float(waits_ms.max()) or 1.0
    counts, edges = np.histogram(waits_ms, HISTOGRAM_BINS, (0.0, top))
    across, up = drawing.Scale(0, top), drawing.Scale(0, float(counts.max()), _FLOOR, 20)
    body, labels = drawing.value_axis(up, unit="")
    for low, high, count in zip(edges, edges[1:], counts, strict=False):
        y = up(float(count))
        x, width = across(float(low)), across(float(high)) - across(float(low)) - 0.15
        words = f"{low:.0f} to {high:.0f} ms: {count}"
        body.append(drawing.rect(x, y, width, _FLOOR - y, kind="bar", title=words))
    body += drawing.time_axis(across, y=_FLOOR + 2, unit="ms")
    for row, (share, name) in enumerate(((0.5, "p50"), (0.99, "p99"))):
        value = float(np.quantile(waits_ms, share))
        x = across(value)
        body.append(drawing.line(x, 4, x, _FLOOR, kind="mark"))
        anchor, aside = ("end", -4) if x > 70 else ("start", 4)
        text = f"{name} {value:.0f} ms"
        body.append(drawing.label(x, 14 + 14 * row, text, anchor=anchor, aside=aside))
    rows = [
        (f"{low:.0f} to {high:.0f}", str(count))
        for low, high, count in zip(edges, edges[1:], counts, strict=False)
        if count
    ]
    picture = drawing.svg(
        [*body, *labels], height=_FLOOR + 24, title=title, description=_words(waits_ms)
    )
    return time_plots.Chart(title, picture, ("ms", "count"), rows)


def _words(waits_ms: binning.Floats) -> str:
    p50, p99 = np.quantile(waits_ms, (0.5, 0.99))
    return f"{len(waits_ms):,} measured: median {p50:.0f} ms, 99th percentile {p99:.0f} ms."


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
    histogram = durations(found.waited_ns / 1e6, f"{title}, all")
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
