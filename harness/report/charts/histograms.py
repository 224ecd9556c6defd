"""Histograms of durations: how many took how long."""

import numpy as np

from harness.report import drawing
from harness.report.charts import binning, time_plots

BINS = 48
_FLOOR = 108.0


def durations(waits_ms: binning.Floats, title: str) -> time_plots.Chart:
    """Draw a histogram of durations in milliseconds, with the median and the 99th percentile."""
    if not len(waits_ms):
        return time_plots.Chart(title, "", ("ms", "count"), [], note="Nothing was measured.")
    top = float(waits_ms.max()) or 1.0
    counts, edges = np.histogram(waits_ms, BINS, (0.0, top))
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
