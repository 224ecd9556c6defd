"""The trend over nights as one self-contained page, without scripts."""

import dataclasses
import pathlib
import statistics
from collections.abc import Iterable, Iterator, Sequence

from harness import writing
from harness.comparison.trends import changes, night_series
from harness.comparison.trends.changes import Change
from harness.comparison.trends.night_series import (
    RATE,
    FigurePoint,
    Measure,
    Night,
    RatePoint,
    Series,
)
from harness.comparison.trends.trend_documents import Trend
from harness.report import drawing, page_templates
from harness.report.charts import time_plots
from harness.statistics import rates

COLUMNS_MAX = 60
"""Columns of a chart; more could not be distinguished on a phone."""
ROWS_MAX = 60
"""Rows of the table of a chart, the newest nights."""
HEIGHT = 96.0
_TOP, _AXIS = 18.0, 22.0
_MARGIN = 2.0
"""Percent that stay free on both sides."""
_BAR_MAX = 8.0
"""Width of the widest bar, in percent."""
_TALL = {"VALID": 0.35, "UNKNOWN": 0.65, "ERROR": 0.8, "INVALID": 1.0}
"""Share of the height of a bar: verdicts differ without colours too."""


@dataclasses.dataclass(frozen=True, slots=True)
class Columns:
    """The columns of all charts of a page."""

    labels: Sequence[str]
    """The date of each night."""

    @property
    def count(self) -> int:
        """The number of columns."""
        return -(-len(self.labels) // self.size)

    @property
    def size(self) -> int:
        """The number of nights in a column."""
        return max(-(-len(self.labels) // COLUMNS_MAX), 1)

    def of(self, night: int) -> int:
        """Return the column of a night."""
        return night // self.size

    def x(self, column: int) -> float:
        """Return the middle of a column, in percent."""
        return self.begin(column) + self.width / 2

    def begin(self, column: int) -> float:
        """Return the left edge of a column, in percent."""
        return _MARGIN + column * self.width

    @property
    def width(self) -> float:
        """The width of a column, in percent."""
        return (drawing.WIDTH - 2 * _MARGIN) / self.count

    @property
    def note(self) -> str:
        """How many nights share a column; empty if none do."""
        return "" if self.size == 1 else f"Each column has {self.size} nights. "


@dataclasses.dataclass(frozen=True, slots=True)
class _Point:
    column: int
    low: float
    middle: float
    high: float
    title: str


def verdicts(columns: Columns, found: Sequence[str]) -> str:
    """Return a bar for each column, as tall as the worst verdict of its nights is bad."""
    worst: dict[int, str] = {}
    for night, verdict in enumerate(found):
        column = columns.of(night)
        worst[column] = max(worst.get(column, verdict), verdict, key=lambda v: _TALL.get(v, 0.8))
    width = min(0.8 * columns.width, _BAR_MAX)
    body = []
    for column, verdict in worst.items():
        height = _TALL.get(verdict, 0.8) * 40
        title = f"{columns.labels[column * columns.size]}: {verdict}"
        x = columns.x(column) - width / 2
        body.append(
            drawing.rect(x, 44 - height, width, height, kind=f"night {verdict}", title=title)
        )
    body += _axis(columns, 46)
    return drawing.svg(body, height=46 + _AXIS, title="Verdicts of the nights")


def of_rates(
    columns: Columns, points: Sequence[RatePoint], changed: Iterable[int], title: str
) -> time_plots.Chart:
    """Return the rates of INVALID with their exact intervals."""
    grouped: dict[int, list[RatePoint]] = {}
    for point in points:
        grouped.setdefault(columns.of(point.night), []).append(point)
    drawn = []
    for column, items in grouped.items():
        rate = rates.Rate(
            sum(item.rate.failed for item in items), sum(item.rate.runs for item in items)
        )
        if rate.runs:
            low, high = rate.interval
            name = columns.labels[items[0].night]
            drawn.append(_Point(column, low, rate.share, high, f"{name}: {rate}"))
    top = max((point.high for point in drawn), default=1.0)
    rows = [(columns.labels[item.night], *_rate_cells(item)) for item in points[-ROWS_MAX:]]
    return time_plots.Chart(
        title=title,
        picture=_picture(columns, drawn, changed, title, f"{rates.upper(top * 100)} %", top),
        header=("night", "INVALID", "runs", "UNKNOWN", "95 %"),
        rows=rows[::-1],
        note=f"{columns.note}Lines are exact 95 % intervals.",
    )


def _rate_cells(point: RatePoint) -> tuple[str, ...]:
    interval = f"{rates.span(*point.rate.interval, '–')} %"
    return str(point.rate.failed), str(point.rate.runs), str(point.unknown), interval


def of_figures(
    columns: Columns,
    points: Sequence[FigurePoint],
    changed: Iterable[int],
    title: str,
    measure: Measure,
) -> time_plots.Chart:
    """Return the medians of the nights' runs, with their least and most."""
    grouped: dict[int, list[FigurePoint]] = {}
    for point in points:
        grouped.setdefault(columns.of(point.night), []).append(point)
    drawn = []
    for column, items in grouped.items():
        values = [value for item in items for value in item.values]
        middle = statistics.median(item.median for item in items)
        words = f"{columns.labels[items[0].night]}: {middle:.4g} {measure.unit}"
        drawn.append(_Point(column, min(values), middle, max(values), words))
    top = max((point.high for point in drawn), default=0.0) or 1.0
    rows = [
        (
            columns.labels[item.night],
            f"{item.median:.4g}",
            f"{min(item.values):.4g}",
            f"{max(item.values):.4g}",
            str(len(item.values)),
        )
        for item in points[-ROWS_MAX:]
    ]
    return time_plots.Chart(
        title=title,
        picture=_picture(columns, drawn, changed, title, f"{top:.4g} {measure.unit}", top),
        header=("night", f"median, {measure.unit}", "least", "most", "runs"),
        rows=rows[::-1],
        note=f"{columns.note}Medians of the runs; lines are from the least to the most.",
    )


def _picture(
    columns: Columns,
    points: Sequence[_Point],
    changed: Iterable[int],
    title: str,
    top_label: str,
    top: float,
) -> str:
    up = drawing.Scale(0, top, HEIGHT, _TOP)
    body = [drawing.line(0, _TOP, drawing.WIDTH, _TOP, kind="grid")]
    path = [(columns.x(point.column), up(point.middle)) for point in points]
    body.append(drawing.curve(path, floor=HEIGHT + 2, kind="curve"))
    for night in changed:
        x = columns.begin(columns.of(night))
        body.append(drawing.line(x, _TOP - 6, x, HEIGHT, kind="mark"))
    for point in points:
        x = columns.x(point.column)
        body.append(drawing.line(x, up(point.low), x, up(point.high), kind="whisker"))
        body.append(drawing.dot(x, up(point.middle), kind="point", title=point.title))
    body += _axis(columns, HEIGHT + 2)
    labels = [drawing.label(0, 11, f"top: {top_label}", kind="lane small", aside=3)]
    words = points[-1].title if points else "Nothing was measured."
    return drawing.svg(body, height=HEIGHT + _AXIS, title=title, description=words, labels=labels)


def _axis(columns: Columns, y: float) -> Iterator[str]:
    """Yield the axis with the dates of the first and the last night."""
    yield drawing.line(0, y, drawing.WIDTH, y, kind="axis")
    yield drawing.label(0, y + 16, columns.labels[0][:10], kind="tick")
    if columns.count > 1:
        last = columns.labels[-1][:10]
        yield drawing.label(drawing.WIDTH, y + 16, last, kind="tick", anchor="end")


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
    columns = Columns([night.started.replace("T", " ")[:16] for night in nights])
    chosen = _chosen(all_series, found)
    return (
        page_templates.templates()
        .get_template("trends.html.j2")
        .render(
            trend=trend,
            span=rates.span,
            look=_look(trend),
            newest=trend.nights[-1] if trend.nights else None,
            verdicts=verdicts(columns, [night.verdict for night in nights]) if nights else "",
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


def _draw(series: Series, columns: Columns, found: Iterable[Change]) -> _Drawn:
    changed: dict[str, list[int]] = {}
    for change in found:
        if change.key == series.key:
            changed.setdefault(change.measure, []).append(change.first)
    charts = [of_rates(columns, series.rates, changed.get(RATE, ()), f"{series.key}: {RATE}")]
    charts += [
        of_figures(
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
