"""Charts of numbers over time: one area, or several lines that differ in colour and in dashes."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from harness.report import drawing
from harness.report.charts import binning, time_plots

HEIGHT = 120.0
LINES_MAX = 6
"""Lines that differ in colour and dashes."""
ROWS_MAX = 30
"""Rows of the table: each has the mean of several bins, or their maximum."""


@dataclasses.dataclass(frozen=True, slots=True)
class Series:
    """One line: a value for each bin; NaN: nothing was measured in it."""

    name: str
    values: binning.Floats


def area(
    axis: time_plots.TimeAxis, title: str, series: Series, *, unit: str, note: str
) -> time_plots.Chart:
    """Draw a series as a filled step curve."""
    top = float(np.nanmax(series.values, initial=0.0))
    up = drawing.Scale(0, top or 1.0, HEIGHT, 16.0)
    edges = np.linspace(0, drawing.WIDTH, len(series.values) + 1)
    points = [(float(x), up(float(y))) for x, y in zip(edges, series.values, strict=False)]
    points.append((drawing.WIDTH, points[-1][1]))
    grid, labels = drawing.value_axis(up, unit=unit)
    body = [drawing.area(points, floor=HEIGHT, kind="area"), *grid]
    return _chart(axis, title, body, labels, [series], note, unit)


def lines(
    axis: time_plots.TimeAxis,
    title: str,
    series: Sequence[Series],
    *,
    unit: str,
    note: str,
) -> time_plots.Chart:
    """Draw up to six series as lines, with a legend."""
    shown = list(series)[:LINES_MAX]
    top = max((float(np.nanmax(item.values, initial=0.0)) for item in shown), default=0.0)
    up = drawing.Scale(0, top or 1.0, HEIGHT, 16.0)
    body, labels = drawing.value_axis(up, unit=unit)
    for number, item in enumerate(shown):
        count = len(item.values)
        points = [
            (drawing.WIDTH * (index + 0.5) / count, up(float(value)))
            for index, value in enumerate(item.values)
            if not np.isnan(value)
        ]
        body.append(drawing.curve(points, floor=HEIGHT + 2, kind=f"curve curve{number}"))
    return _chart(axis, title, body, labels, shown, note, unit)


def _chart(
    axis: time_plots.TimeAxis,
    title: str,
    body: Sequence[str],
    labels: Sequence[str],
    series: Sequence[Series],
    note: str,
    unit: str,
) -> time_plots.Chart:
    return time_plots.Chart(
        title=title,
        picture=axis.plot(
            body, height=HEIGHT, title=title, labels=labels, description=_described(series, unit)
        ),
        header=("from second", *(f"{item.name}{unit and f', {unit.strip()}'}" for item in series)),
        rows=_rows(axis, series),
        note=note,
        legend=[item.name for item in series] if len(series) > 1 else [],
    )


def _described(series: Sequence[Series], unit: str) -> str:
    return " ".join(
        f"{item.name}: at most {_figure(float(np.nanmax(item.values, initial=0.0)))}{unit}."
        for item in series
    )


def _rows(axis: time_plots.TimeAxis, series: Sequence[Series]) -> list[tuple[str, ...]]:
    """Return a row for each bin, or for several bins their highest values."""
    if not series:
        return []
    count = len(series[0].values)
    size = -(-count // ROWS_MAX)
    seconds = axis.edges(count) / 1e9
    return [
        (f"{seconds[start]:.2f}", *(_highest(item.values[start : start + size]) for item in series))
        for start in range(0, count, size)
    ]


def _highest(values: binning.Floats) -> str:
    known = values[~np.isnan(values)]
    return _figure(float(known.max())) if len(known) else "–"


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"
