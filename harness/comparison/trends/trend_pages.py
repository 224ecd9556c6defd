"""The trend over nights as one self-contained page, without scripts."""

import dataclasses
import pathlib
from collections.abc import Iterable, Sequence

from harness import writing
from harness.comparison.trends import changes, night_series, trend_charts
from harness.comparison.trends.changes import Change
from harness.comparison.trends.night_records import Night
from harness.comparison.trends.night_series import RATE, Series
from harness.comparison.trends.trend_documents import Trend
from harness.report import page_templates
from harness.report.charts import time_plots

DRAWN_MAX = 16
"""Scenarios and subjects with charts: those that changed last, then tested subjects."""
NIGHTS_MAX = 60
"""Nights and changes in the tables, the newest."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Drawn:
    """The charts of one scenario with one subject."""

    title: str
    about: str
    charts: Sequence[time_plots.Chart]


def write(
    path: pathlib.Path,
    trend: Trend,
    nights: Sequence[Night],
    all_series: Sequence[Series],
    found: Sequence[Change],
) -> None:
    """Write the page atomically.

    Raises StorageError or UnwritableError if that fails.
    """
    writing.replace(path, page(trend, nights, all_series, found).encode())


def page(
    trend: Trend, nights: Sequence[Night], all_series: Sequence[Series], found: Sequence[Change]
) -> str:
    """Return the page; the same bytes for the same nights."""
    columns = trend_charts.Columns([_label(night) for night in nights])
    chosen = _chosen(all_series, found)
    return (
        page_templates.templates()
        .get_template("trends.html.j2")
        .render(
            trend=trend,
            look=_look(trend),
            newest=trend.nights[-1] if trend.nights else None,
            verdicts=trend_charts.verdicts(columns, [night.verdict for night in nights])
            if nights
            else "",
            drawn=[_draw(series, columns, found) for series in chosen],
            left_out=len(all_series) - len(chosen),
            nights=trend.nights[::-1][:NIGHTS_MAX],
            changes=sorted(trend.changes, key=lambda change: change.found, reverse=True)[
                :NIGHTS_MAX
            ],
            nights_left_out=max(len(trend.nights) - NIGHTS_MAX, 0),
            changes_left_out=max(len(trend.changes) - NIGHTS_MAX, 0),
            before=changes.BEFORE_MAX,
            least=f"{changes.LEAST_CHANGE * 100:g}",
            level=f"{changes.LEVEL * 100:g}",
            week=changes.WEEK,
            nights_min=changes.NIGHTS_MIN,
        )
    )


def _label(night: Night) -> str:
    return night.started.replace("T", " ")[:16]


def _look(trend: Trend) -> str:
    """Return the class of the banner: that of the newest verdict, or that of a bad one."""
    if not trend.nights:
        return "UNKNOWN"
    verdict = trend.nights[-1].verdict
    if trend.is_worse or verdict == "INVALID":
        return "INVALID"
    return verdict if verdict == "VALID" else "UNKNOWN"


def _chosen(all_series: Sequence[Series], found: Iterable[Change]) -> list[Series]:
    """Return the series to draw: those that changed last come first."""
    last = {change.key: change.found for change in found}
    ordered = sorted(all_series, key=lambda series: (-last.get(series.key, -1), series.key))
    return ordered[:DRAWN_MAX]


def _draw(series: Series, columns: trend_charts.Columns, found: Iterable[Change]) -> _Drawn:
    changed: dict[str, list[int]] = {}
    for change in found:
        if change.key == series.key:
            changed.setdefault(change.measure, []).append(change.first)
    charts = [
        trend_charts.of_rates(columns, series.rates, changed.get(RATE, ()), f"{series.key}: {RATE}")
    ]
    charts += [
        trend_charts.of_figures(
            columns,
            series.figures[measure.name],
            changed.get(measure.name, ()),
            f"{series.key}: {measure.name}",
            measure,
        )
        for measure in night_series.MEASURES
        if measure.name in series.figures
    ]
    about = f"{series.key.purpose.heading}, {series.key.cluster}"
    return _Drawn(str(series.key), about, charts)
