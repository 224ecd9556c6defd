"""Two charts of a run over time, each with its numbers as a table: throughput and latency.

Phases of the run and faults are shaded. The trace shows single devices, pods and calls.
"""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from harness.history import records
from harness.report import binning, drawing, evidence

BINS = 60
_SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
_HEIGHT, _TOP = 150.0, 46.0
"""Heights of a plot, and of what is above it: phases and marks of faults."""
_MARGIN = 0.02
"""Share of the axis that is shown before the load."""
_PHASES_MAX = 40
_CHARACTER = 1.1
"""Width of a character, in percent of the narrowest plot that shows the names of phases."""


@dataclasses.dataclass(frozen=True, slots=True)
class Chart:
    """A picture and its numbers as a table."""

    title: str
    picture: str
    """SVG."""
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str
    """How to read it."""
    legend: Sequence[str] = ()
    """Names of the lines, in the order of their styles; empty: there is one."""


def throughput(source: evidence.Evidence) -> Chart:
    scale = _scale(source)
    edges = _edges(scale)
    values = binning.counts(source.holds.from_ns.astype(np.float64), edges)
    rates = values / (np.diff(edges) / 1e9)
    note = f"Allocations of devices per second, in each {_bin_text(scale)}."
    return _chart(source, "Throughput over time", {"allocations": rates}, "/s", note)


def latency(source: evidence.Evidence) -> Chart:
    scale = _scale(source)
    found = [
        (life.ready_ns - source.started_ns, life.waited_ns / 1e6)
        for life in source.folded.claims.values()
        if life.ready_ns is not None and life.waited_ns is not None
    ]
    ready_ns, waited_ms = np.array(found, dtype=np.float64).reshape(-1, 2).T
    values = binning.quantiles(ready_ns, waited_ms, _edges(scale), tuple(_SHARES.values()))
    note = f"Percentiles of the claims that were allocated in each {_bin_text(scale)}."
    series = dict(zip(_SHARES, values, strict=True))
    return _chart(source, "From claim to allocation over time", series, " ms", note)


def _scale(source: evidence.Evidence) -> drawing.Scale:
    lives = [*source.folded.claims.values(), *source.folded.pods.values()]
    first_ns = min((life.seen_ns for life in lives), default=source.started_ns)
    begin_s = max((first_ns - source.started_ns) / 1e9, 0.0)
    end_s = max(source.seconds, begin_s + 1e-9)
    return drawing.Scale(max(begin_s - _MARGIN * (end_s - begin_s), 0.0), end_s)


def _edges(scale: drawing.Scale) -> binning.Times:
    edges: binning.Times = np.linspace(scale.low * 1e9, scale.high * 1e9, BINS + 1)
    return edges


def _bin_text(scale: drawing.Scale) -> str:
    length_s = (scale.high - scale.low) / BINS
    return f"{length_s:.3g} s" if length_s >= 1 else f"{length_s * 1e3:.3g} ms"


def _chart(
    source: evidence.Evidence,
    title: str,
    series: dict[str, binning.Floats],
    unit: str,
    note: str,
) -> Chart:
    scale = _scale(source)
    highest = {name: float(np.nanmax(values, initial=0.0)) for name, values in series.items()}
    up = drawing.Scale(0, max(highest.values()) or 1.0, _TOP + _HEIGHT, _TOP + 16)
    floor = _TOP + _HEIGHT
    words = [f"{name}: at most {_figure(top)}{unit}." for name, top in highest.items()]
    picture = drawing.svg(
        [
            *_phases(source, scale, floor),
            *_faults(source, scale, floor),
            *drawing.value_axis(up, unit=unit),
            *_curves(list(series.values()), up, floor),
            *drawing.time_axis(scale, y=floor + 2, unit="s"),
        ],
        height=floor + 24,
        title=title,
        description=" ".join([*words, *_described(source)]),
    )
    seconds = _edges(scale) / 1e9
    return Chart(
        title=title,
        picture=picture,
        header=("from second", *(f"{name}, {unit.strip()}" for name in series)),
        rows=[
            (f"{second:.2f}", *("–" if np.isnan(value) else _figure(value) for value in values))
            for second, *values in zip(seconds, *series.values(), strict=False)
        ],
        note=note,
        legend=list(series) if len(series) > 1 else [],
    )


def _curves(series: Sequence[binning.Floats], up: drawing.Scale, floor: float) -> Iterator[str]:
    for number, values in enumerate(series):
        points = [
            (drawing.WIDTH * (index + 0.5) / BINS, up(float(value)))
            for index, value in enumerate(values)
            if not np.isnan(value)
        ]
        yield drawing.curve(points, floor=floor + 2, kind=f"curve curve{number}")


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


def _phases(source: evidence.Evidence, scale: drawing.Scale, floor: float) -> Iterator[str]:
    phases = list(source.history.phases)[:_PHASES_MAX]
    begins = [_second(source, phase.ts_ns) for phase in phases]
    edges = [scale(begin) for begin in begins] + [scale.right]
    for number, (phase, begin) in enumerate(zip(phases, begins, strict=True)):
        width = edges[number + 1] - edges[number]
        if width <= 0:
            continue
        detail = f": {phase.detail}" if phase.detail else ""
        title = f"phase “{phase.name}” from {begin:.2f} s{detail}"
        kind = f"phase phase{number % 2}"
        yield drawing.rect(edges[number], 0, width, floor, kind=kind, title=title)
        if len(phase.name) * _CHARACTER < width:
            yield drawing.label(edges[number], 11, phase.name, kind="tick small", aside=4)


def _faults(source: evidence.Evidence, scale: drawing.Scale, floor: float) -> Iterator[str]:
    for window in source.faults.windows:
        left, right = (scale(_second(source, ns)) for ns in (window.begun_ns, window.ended_ns))
        yield drawing.rect(left, 17, right - left, floor - 17, kind="fault-shade")
        title = f"{window.fault} is on"
        yield drawing.rect(left, 17, right - left, 8, kind="fault-window", title=title)
    bins: dict[tuple[int, str], list[records.FaultApplied]] = {}
    for item in source.faults.applications:
        place = int(scale(_second(source, item.begun_ns)) / 100 * BINS)
        bins.setdefault((place, item.fault), []).append(item)
    for (_, fault), items in bins.items():
        second = _second(source, items[0].begun_ns)
        title = f"{fault}: took effect {_times(len(items))} at {second:.2f} s"
        yield drawing.rect(scale(second), 27, 0.25, 10, kind="fault-mark", title=title)


def _described(source: evidence.Evidence) -> Iterator[str]:
    for window in source.faults.windows:
        begun, ended = (_second(source, ns) for ns in (window.begun_ns, window.ended_ns))
        yield (
            f"Fault {window.fault} was on from {begun:.2f} s to {ended:.2f} s and took effect "
            f"{_times(window.applied_count)}."
        )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _second(source: evidence.Evidence, ns: int) -> float:
    return (ns - source.started_ns) / 1e9
