"""A comparison as one self-contained page."""

import math
import pathlib
from collections.abc import Callable, Iterator, Sequence

from harness import writing
from harness.comparison import comparison_texts, documents
from harness.comparison.documents import Answer
from harness.report import drawing, page_templates

WIDTH = 480
"""Width of every chart, in SVG units."""
POINTS_MAX = 2_000
"""Runs without violations that one chart shows; those with violations are all there."""
_LEFT, _RIGHT, _TOP = 44, 12, 12
_SCATTER_FLOOR = 230
_ROW, _FIGURE = 17, 24
"""Heights of one side's row, and of a figure's title with its space."""
_TICKS = 5


def scatter(comparison: documents.Comparison) -> str:
    """Return violations against throughput, a mark for each run; empty without throughputs."""
    runs = _chosen(comparison.runs)
    if not runs:
        return ""
    fastest = max(run.allocations_per_s or 0 for run in runs)
    most = max(run.violations for run in runs)
    across = drawing.Scale(0, (fastest or 1.0) * 1.05, _LEFT, WIDTH - _RIGHT)
    up = drawing.Scale(0, math.log1p(max(most, 1)), _SCATTER_FLOOR, _TOP)
    body = list(_axes(across, up, most))
    for run in runs:
        place = across(run.allocations_per_s or 0), up(math.log1p(run.violations))
        title = (
            f"{run.side}: {run.scenario}, {run.subject}: {run.verdict}, {run.violations} violations"
        )
        body.append(_mark(number_of(comparison, run.side), *place, title))
    return _svg(body, _SCATTER_FLOOR + 44, "Violations against throughput, a mark for each run")


def _chosen(runs: Sequence[documents.ComparedRun]) -> list[documents.ComparedRun]:
    """Return the runs with a throughput: all with violations, and at most POINTS_MAX others."""
    measured = [run for run in runs if run.allocations_per_s is not None]
    clean = [run for run in measured if not run.violations]
    step = max(math.ceil(len(clean) / POINTS_MAX), 1)
    return [*clean[::step], *(run for run in measured if run.violations)]


def left_out(comparison: documents.Comparison) -> int:
    """Return the number of runs that have no mark in the chart."""
    return len(comparison.runs) - len(_chosen(comparison.runs))


def number_of(comparison: documents.Comparison, label: str) -> int:
    """Return the place of a side, which decides shape and colour of its marks."""
    return [side.label for side in comparison.sides].index(label)


def legend(number: int) -> str:
    """Return the mark of a side, for the legend."""
    return (
        '<svg class="key" viewBox="0 0 12 12" aria-hidden="true">' + _mark(number, 6, 6) + "</svg>"
    )


def spreads(pair: documents.PairComparison, comparison: documents.Comparison) -> str:
    """Return the spread of each figure on both sides: least to most, middle half and median."""
    body: list[str] = []
    top = 0.0
    for time in pair.times:
        scale = drawing.Scale(0, _most(time) * 1.02, _LEFT, WIDTH - _RIGHT)
        body.append(_label(_LEFT, top + 14, f"{time.name} ({time.unit}): {time.answer}"))
        top += _FIGURE
        for label, spread in ((pair.first, time.first), (pair.second, time.second)):
            body += _spread(label, spread, scale, top, number_of(comparison, label))
            top += _ROW
        body.append(_ticks(scale, top, _plain))
        top += _FIGURE
    return _svg(
        body, top + 4, f"{pair.scenario}: throughput and latency of {pair.first} and {pair.second}"
    )


def _most(time: documents.TimeComparison) -> float:
    return max(time.first.most or 0, time.second.most or 0) or 1.0


def _spread(
    label: str, found: documents.Spread, scale: drawing.Scale, top: float, number: int
) -> Iterator[str]:
    middle = top + _ROW / 2
    yield _label(_LEFT - 8, middle + 4, label, anchor="end")
    if found.median is None or found.least is None or found.most is None:
        return
    quarters = scale(found.quarter or 0), scale(found.three_quarters or 0)
    title = f"{label}: median {found.median:.5g}, {found.least:.5g} to {found.most:.5g}"
    yield _line(scale(found.least), middle, scale(found.most), middle, kind=f"s{number}")
    width = quarters[1] - quarters[0]
    yield _rect(quarters[0], middle - 5, width, 10, kind=f"box s{number}", title=title)
    median = scale(found.median)
    yield _line(median, middle - 7, median, middle + 7, kind="median")


def _axes(across: drawing.Scale, up: drawing.Scale, most: int) -> Iterator[str]:
    yield _line(_LEFT, _SCATTER_FLOOR, WIDTH - _RIGHT, _SCATTER_FLOOR, kind="axis")
    yield _line(_LEFT, _TOP, _LEFT, _SCATTER_FLOOR, kind="axis")
    yield _ticks(across, _SCATTER_FLOOR, _plain)
    yield _label(WIDTH - _RIGHT, _SCATTER_FLOOR + 34, "allocations/s", anchor="end")
    yield _label(_LEFT + 6, _TOP + 8, "violations (log)")
    for count in (0, *(10**power * factor for power in range(9) for factor in (1, 3))):
        if count <= max(most, 1):
            y = up(math.log1p(count))
            yield _label(_LEFT - 6, y + 4, count, kind="tick", anchor="end")
            yield _line(_LEFT, y, WIDTH - _RIGHT, y, kind="grid")


def _ticks(scale: drawing.Scale, y: float, worded: Callable[[float], str]) -> str:
    step = _round_step(scale.high / _TICKS)
    values = [step * number for number in range(int(scale.high / step) + 1)]
    return "".join(
        _label(scale(value), y + 15, worded(value), kind="tick", anchor="middle")
        for value in values
    )


def _round_step(least: float) -> float:
    """Return the smallest of …, 1, 2, 5, 10, 20, … that is at least `least`, a positive number."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least)


def _plain(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def _mark(number: int, x: float, y: float, title: str = "") -> str:
    """Return the mark of a run; sides take turns with four shapes."""
    corners = {
        1: ((-4, -4), (4, -4), (4, 4), (-4, 4)),
        2: ((0, -5), (5, 4), (-5, 4)),
        3: ((0, -5), (5, 0), (0, 5), (-5, 0)),
    }.get(number % 4)
    inner = f"<title>{drawing.text(title)}</title>" if title else ""
    kind = f'class="run s{number}"'
    if corners is None:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" {kind}>{inner}</circle>'
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
    return f'<polygon points="{points}" {kind}>{inner}</polygon>'


def _line(x1: float, y1: float, x2: float, y2: float, *, kind: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def _rect(x: float, y: float, width: float, height: float, *, kind: str, title: str) -> str:
    """Return a bar, at least one unit wide so that it stays visible."""
    size = f'width="{max(width, 1):.1f}" height="{height:.1f}"'
    inner = f"<title>{drawing.text(title)}</title>"
    return f'<rect x="{x:.1f}" y="{y:.1f}" {size} class="{kind}">{inner}</rect>'


def _label(x: float, y: float, value: object, *, kind: str = "label", anchor: str = "start") -> str:
    shown = drawing.text(value)
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{shown}</text>'


def _svg(body: Sequence[str], height: float, title: str) -> str:
    named = drawing.text(title)
    return (
        f'<svg class="fit" viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{named}">'
        f"<title>{named}</title>{''.join(body)}</svg>"
    )


SPREADS_MAX = 20
"""Pairs whose spreads are drawn; those that differ come first, and the tables have all."""
_LOOKS = {Answer.SAME: "VALID", Answer.DIFFERENT: "INVALID", Answer.UNDECIDED: "UNKNOWN"}
_SYMBOLS = {Answer.SAME: "=", Answer.DIFFERENT: "≠", Answer.UNDECIDED: "?"}


def write(path: pathlib.Path, comparison: documents.Comparison) -> None:
    """Write the page atomically.

    Raises StorageError or UnwritableError if that fails.
    """
    writing.replace(path, page(comparison).encode())


def page(comparison: documents.Comparison) -> str:
    """Return the page; the same bytes for the same comparison."""
    timed = [pair for pair in comparison.pairs if pair.times]
    timed.sort(key=lambda pair: all(time.answer is not Answer.DIFFERENT for time in pair.times))
    return (
        page_templates.templates()
        .get_template("comparison.html.j2")
        .render(
            comparison=comparison,
            look=_LOOKS[comparison.answer],
            symbol=_SYMBOLS[comparison.answer],
            tables=comparison_texts.tables(comparison),
            scatter=scatter(comparison),
            left_out=left_out(comparison),
            keys=[(side, legend(number)) for number, side in enumerate(comparison.sides)],
            spreads=[(pair, spreads(pair, comparison)) for pair in timed[:SPREADS_MAX]],
            spreads_left_out=max(len(timed) - SPREADS_MAX, 0),
        )
    )
