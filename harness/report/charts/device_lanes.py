"""Draws who held which device over time: every hold of a small run, shares of time of a large one.

Double allocations are marked in every lane in which they happened, however many holds there are.
"""

import collections
import dataclasses
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from harness.report import drawing, hold_tables
from harness.report.charts import binning, time_plots

LANES_MAX = 120
"""Lanes: one for each device, for each pool if there are more devices, or for groups of pools."""
HOLDS_DRAWN = 3_000
"""Holds that are drawn one by one; of more, each lane shows which share of time was held."""
BINS = 200
ROWS_MAX = 500
"""Double allocations that are marked one by one; of more, one mark for each bin of a lane."""
_LABELLED = 13.0
"""Height of the lowest lane that has a label."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Lane:
    """A lane: some devices and their holds."""

    name: str
    devices: int
    rows: hold_tables.Integers
    """Rows of the holds in the table."""
    second: hold_tables.Integers
    """Rows of the holds that are double allocations."""


def devices_over_time(holds: hold_tables.HoldTable, axis: time_plots.TimeAxis) -> time_plots.Chart:
    """Draw the lanes."""
    noun, names = _grouped(holds.devices)
    lanes = list(_lanes(holds, names))
    height = min(18.0, max(5.0, 560.0 / max(len(lanes), 1)))
    is_exact = noun == "device" and len(holds) <= HOLDS_DRAWN
    body, labels = [], []
    for number, lane in enumerate(lanes):
        y = number * (height + 1)
        draw = _each_hold if is_exact else _shares
        body += [drawing.rect(0, y, drawing.WIDTH, height, kind="empty-lane")]
        body += [*draw(holds, lane, axis, y, height), *_doubles(holds, lane, axis, y, height)]
        if height >= _LABELLED:
            short = drawing.shortened(lane.name.rpartition("/")[2] or lane.name)
            labels.append(drawing.label(0, y + height - 5, short, kind="lane small", aside=3))
    title = f"{noun.capitalize()}s over time"
    return time_plots.Chart(
        title=title,
        picture=axis.plot(
            body,
            height=len(lanes) * (height + 1),
            title=title,
            labels=labels,
            description=_described(holds, lanes, noun),
        ),
        header=(noun, "devices", "holds", "claims", "double allocations"),
        rows=[_row(holds, lane) for lane in lanes],
        note=_note(holds, axis, len(lanes), noun, is_exact=is_exact),
    )


def _grouped(devices: Sequence[str]) -> tuple[str, list[str]]:
    """Return what a lane is, and the name of the lane of each device."""
    if len(devices) <= LANES_MAX:
        return "device", list(devices)
    pools = [device.rpartition("/")[0] for device in devices]
    found = list(dict.fromkeys(pools))
    if len(found) <= LANES_MAX:
        return "pool", pools
    size = -(-len(found) // LANES_MAX)
    group = {pool: found[number // size * size] for number, pool in enumerate(found)}
    return "group of pools", [f"{group[pool]} and the next {size - 1} pools" for pool in pools]


def _lanes(holds: hold_tables.HoldTable, names: Sequence[str]) -> Iterator[_Lane]:
    members = collections.Counter(names)
    number = {name: index for index, name in enumerate(members)}
    lane_of_device = np.array([number[name] for name in names], dtype=np.int64)
    lane = lane_of_device[holds.device]
    order = np.argsort(lane, kind="stable")
    borders = np.searchsorted(lane[order], np.arange(len(members) + 1))
    lane_of_second = lane[holds.second]
    for index, (name, devices) in enumerate(members.items()):
        rows = order[borders[index] : borders[index + 1]]
        yield _Lane(name, devices, rows, holds.second[lane_of_second == index])


def _each_hold(
    holds: hold_tables.HoldTable, lane: _Lane, axis: time_plots.TimeAxis, y: float, height: float
) -> Iterable[str]:
    """Draw each hold; holds that follow on each other differ in shade."""
    for number, row in enumerate(lane.rows):
        left, right = (_x(axis, at[row]) for at in (holds.from_ns, holds.until_ns))
        life = holds.lives[holds.claim[row]]
        title = (
            f"{lane.name}: {life.name}, from resourceVersion {holds.from_rv[row]} "
            f"({_s(holds.from_ns[row])} s) to {holds.until_rv[row]} ({_s(holds.until_ns[row])} s)"
        )
        kind = f"heat{4 - number % 2}"
        yield drawing.rect(left, y, right - left, height, kind=kind, title=title)


def _shares(
    holds: hold_tables.HoldTable, lane: _Lane, axis: time_plots.TimeAxis, y: float, height: float
) -> Iterable[str]:
    """Draw bins of equal time, darker where more of the lane's devices were held."""
    edges = axis.edges(BINS)
    begins, ends = (at[lane.rows].astype(np.float64) for at in (holds.from_ns, holds.until_ns))
    share = binning.covered(begins, ends, edges) / (np.diff(edges) * max(lane.devices, 1))
    levels = np.clip(np.round(5 * share + 0.3 * (share > 1e-9)), 0, 5).astype(int).tolist()
    for start, end, level in _runs(levels):
        left, right = (drawing.WIDTH * edge / BINS for edge in (start, end))
        yield drawing.rect(left, y, right - left, height, kind=f"heat{level}")


def _doubles(
    holds: hold_tables.HoldTable, lane: _Lane, axis: time_plots.TimeAxis, y: float, height: float
) -> Iterable[str]:
    """Mark each double allocation, or each bin of the lane that has some."""
    if len(lane.second) <= ROWS_MAX:
        for row in lane.second:
            left, right = (_x(axis, at[row]) for at in (holds.from_ns, holds.until_ns))
            life = holds.lives[holds.claim[row]]
            title = f"double allocation: {life.name} at {_s(holds.from_ns[row])} s"
            width = min(max(right - left, 0.4), 1.2)
            yield drawing.rect(left, y, width, height, kind="double", title=title)
        return
    begins = holds.from_ns[lane.second].astype(np.float64)
    counts = binning.counts(begins, axis.edges(BINS)).astype(int)
    for index in np.flatnonzero(counts):
        x, title = drawing.WIDTH * index / BINS, f"{counts[index]} double allocations"
        yield drawing.rect(x, y, drawing.WIDTH / BINS, height, kind="double", title=title)


def _runs(levels: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Yield (first, end, level) of each run of equal bins, without the empty ones."""
    start = 0
    for index in range(1, len(levels) + 1):
        if index == len(levels) or levels[index] != levels[start]:
            if levels[start]:
                yield start, index, levels[start]
            start = index


def _row(holds: hold_tables.HoldTable, lane: _Lane) -> tuple[str, ...]:
    claims = len(np.unique(holds.claim[lane.rows]))
    figures = (lane.devices, len(lane.rows), claims, len(lane.second))
    return (lane.name, *(f"{figure:,}" for figure in figures))


def _described(holds: hold_tables.HoldTable, lanes: Sequence[_Lane], noun: str) -> str:
    bad = [lane.name for lane in lanes if len(lane.second)]
    text = f"{len(holds):,} holds of {len(holds.devices):,} devices in {len(lanes)} lanes ({noun})."
    shown = ", ".join(bad[:20]) + (f" and {len(bad) - 20} more" if len(bad) > 20 else "")
    return f"{text} Double allocations in: {shown}." if bad else f"{text} No double allocation."


def _note(
    holds: hold_tables.HoldTable,
    axis: time_plots.TimeAxis,
    lanes: int,
    noun: str,
    *,
    is_exact: bool,
) -> str:
    if is_exact:
        return f"All {len(holds):,} holds are drawn. A red mark is a hold that began while another claim held the device."
    return (
        f"{len(holds):,} holds are put together: a lane is one {noun} ({lanes} lanes), in bins of "
        f"{axis.bin_text(BINS)}; darker means that more of its time was held. Every double "
        "allocation is marked in red."
    )


def _x(axis: time_plots.TimeAxis, at_ns: int) -> float:
    return axis.scale(at_ns / 1e9)


def _s(at_ns: int) -> str:
    return f"{at_ns / 1e9:.3f}"
