"""Counters over time: pods waiting, devices held, allocations a second."""

from collections.abc import Iterator

import numpy as np

from harness.report import evidence
from harness.report.charts import binning, latency_charts
from harness.report.traces import trace_events

BINS = 1_000
"""Values of each counter over the run."""


def events(source: evidence.Evidence) -> Iterator[trace_events.Event]:
    """Yield the changes of each counter; a value is the highest one of its part of the run."""
    edges = np.linspace(0, max(source.ended_ns - source.started_ns, 1), BINS + 1)
    begins, ends = latency_charts.pod_waits(
        source.folded.pods.values(), started_ns=source.started_ns
    )
    yield from _counter("pods waiting", binning.highest(begins, ends, edges), edges)
    begins, ends = (at.astype(np.float64) for at in (source.holds.from_ns, source.holds.until_ns))
    yield from _counter("devices held", binning.highest(begins, ends, edges), edges)
    rates = binning.counts(begins, edges) / (np.diff(edges) / 1e9)
    yield from _counter("allocations/s", rates, edges)


def _counter(
    name: str, values: binning.Floats, edges: binning.Times
) -> Iterator[trace_events.Event]:
    before = None
    for at_ns, value in zip(edges.tolist(), values.tolist(), strict=False):
        if value != before:
            before = value
            yield {
                "ph": "C",
                "pid": trace_events.COUNTERS_PID,
                "name": name,
                "ts": round(at_ns) / 1e3,
                "args": {"value": round(value, 3)},
            }
