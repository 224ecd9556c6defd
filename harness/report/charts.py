"""Charts of a whole run: devices over time and latencies, each with its table of numbers."""

import collections
import dataclasses
from collections.abc import Iterable, Sequence

from harness.checks.holds import hold_history
from harness.report import drawing, evidence, fault_lanes

_LANES_MAX = 120
_BINS = 160
_LEFT = 190.0
_RIGHT = drawing.WIDTH - 12.0


@dataclasses.dataclass(frozen=True, slots=True)
class Chart:
    """A picture and its numbers as a table."""

    picture: str
    """SVG."""
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def devices_over_time(source: evidence.Evidence) -> Chart:
    """Draw a lane for each device, or for each pool if there are more than 120 devices.

    The lane shows which share of its devices was held; double allocations are marked.
    """
    holds = source.folded.holds
    names = sorted({hold.device for hold in holds})
    by_pool = len(names) > _LANES_MAX
    lanes = _lanes(holds, by_pool=by_pool)
    height = min(18.0, max(5.0, 600.0 / max(len(lanes), 1)))
    scale = drawing.Scale(0, source.seconds, _LEFT, _RIGHT)
    faults = fault_lanes.lanes(source.faults, scale, started_ns=source.started_ns)
    bottom = faults.height + len(lanes) * (height + 1) + 10
    body = faults.draw(floor=bottom)
    for index, (lane, members) in enumerate(lanes.items()):
        y = faults.height + index * (height + 1) + 4
        body += _lane(source, lane, members, y, height, scale)
    body += drawing.time_axis(scale, y=bottom, unit="s")
    rows = [
        (
            lane,
            str(len({hold.device for hold in members})),
            str(len(members)),
            str(len({hold.uid for hold in members})),
        )
        for lane, members in lanes.items()
    ]
    title = f"{'Pools' if by_pool else 'Devices'} over time"
    picture = drawing.svg(body, height=bottom + 24, title=title, description=faults.describe())
    return Chart(picture, ("pool" if by_pool else "device", "devices", "holds", "claims"), rows)


def _lanes(
    holds: Iterable[hold_history.Hold], *, by_pool: bool
) -> dict[str, list[hold_history.Hold]]:
    lanes: dict[str, list[hold_history.Hold]] = collections.defaultdict(list)
    for hold in holds:
        pool, _, device = hold.device.rpartition("/")
        lanes[pool if by_pool else device].append(hold)
    return dict(sorted(lanes.items()))


def _lane(
    source: evidence.Evidence,
    lane: str,
    members: Sequence[hold_history.Hold],
    y: float,
    height: float,
    scale: drawing.Scale,
) -> list[str]:
    """Draw a lane as bins of equal time, darker where more of its devices were held."""
    total = len({hold.device for hold in members})
    body: list[str] = []
    if height >= 9:
        body.append(drawing.label(0, y + height - 2, lane.rpartition("/")[2], kind="lane small"))
    for start, end, level in _runs(_levels(source, members, total)):
        left, right = (scale(source.seconds * edge / _BINS) for edge in (start, end))
        body.append(drawing.rect(left, y, right - left, height, kind=f"heat{level}"))
    doubled = {item.device for item in source.double_allocations}
    for hold in members:
        if hold.device in doubled:
            body += _double_marks(source, hold, y, height, scale)
    return body


def _double_marks(
    source: evidence.Evidence,
    hold: hold_history.Hold,
    y: float,
    height: float,
    scale: drawing.Scale,
) -> list[str]:
    marks = []
    for violation in source.double_allocations:
        if violation.device == hold.device and violation.holders[1].uid == hold.uid:
            x = scale((hold.from_ts_ns - source.started_ns) / 1e9)
            marks.append(drawing.rect(x - 2, y, 5, height, kind="double", title=violation.text))
    return marks


def _levels(
    source: evidence.Evidence, members: Sequence[hold_history.Hold], total: int
) -> list[int]:
    """Return the share of devices held in each bin: 0 (none) to 5 (all)."""
    filled = [0.0] * _BINS
    width_ns = source.seconds * 1e9 / _BINS
    for hold in members:
        start = (hold.from_ts_ns - source.started_ns) / width_ns
        end = ((hold.until_ts_ns or source.ended_ns) - source.started_ns) / width_ns
        for index in range(max(int(start), 0), min(int(end) + 1, _BINS)):
            filled[index] += max(min(end, index + 1) - max(start, index), 0)
    return [min(round(5 * share / total + 0.3 * (share > 0)), 5) for share in filled]


def _runs(levels: Sequence[int]) -> Iterable[tuple[int, int, int]]:
    """Yield (first, end, level) of each run of equal bins, without the empty ones."""
    start = 0
    for index in range(1, len(levels) + 1):
        if index == len(levels) or levels[index] != levels[start]:
            if levels[start]:
                yield start, index, levels[start]
            start = index


def held_over_time(source: evidence.Evidence) -> Chart:
    """Draw the number of holds over time."""
    events = sorted(
        [(hold.from_ts_ns, 1) for hold in source.folded.holds]
        + [(hold.until_ts_ns, -1) for hold in source.folded.holds if hold.until_ts_ns is not None]
    )
    level, curve = 0, []
    for ts_ns, change in events:
        level += change
        curve.append(((ts_ns - source.started_ns) / 1e9, level))
    curve.append((source.seconds, level))
    top = max(value for _, value in curve) or 1
    across = drawing.Scale(0, source.seconds, _LEFT, _RIGHT)
    faults = fault_lanes.lanes(source.faults, across, started_ns=source.started_ns)
    ceiling, floor = faults.height + 10, faults.height + 130
    up = drawing.Scale(0, top, floor, ceiling)
    points = [(across(second), up(value)) for second, value in _thinned(curve)]
    body = [
        *faults.draw(floor=floor),
        drawing.area(points, floor=floor, kind="area"),
        drawing.label(0, ceiling + 6, f"maximum {top}", kind="lane"),
        *drawing.time_axis(across, y=floor + 2, unit="s"),
    ]
    rows = [(f"{second:.2f}", str(value)) for second, value in _thinned(curve, limit=40)]
    title, words = "Devices held over time", faults.describe()
    picture = drawing.svg(body, height=floor + 26, title=title, description=words)
    return Chart(picture, ("second", "held"), rows)


def _thinned(
    curve: Sequence[tuple[float, int]], *, limit: int = 800
) -> Sequence[tuple[float, int]]:
    stride = max(len(curve) // limit, 1)
    return curve[::stride]


def latencies(lives: Iterable[hold_history.Life], title: str) -> Chart:
    """Draw a histogram of the time until ready, in milliseconds."""
    waits = sorted(life.waited_ns / 1e6 for life in lives if life.waited_ns is not None)
    if not waits:
        return Chart("<p>Nothing was measured.</p>", ("ms", "count"), [])
    bins = _histogram(waits, 40)
    across = drawing.Scale(0, waits[-1] or 1, _LEFT, _RIGHT)
    top = max(count for _, _, count in bins)
    body: list[str] = []
    for low, high, count in bins:
        height = 110 * count / top
        body.append(
            drawing.rect(
                across(low),
                124 - height,
                across(high) - across(low) - 1,
                height,
                kind="bar",
                title=f"{low:.0f} to {high:.0f} ms: {count}",
            )
        )
    for row, (share, name) in enumerate(((0.5, "p50"), (0.99, "p99"))):
        value = waits[min(int(len(waits) * share), len(waits) - 1)]
        body.append(drawing.line(across(value), 8, across(value), 126, kind="mark"))
        is_far = across(value) > _RIGHT - 90
        x, anchor = (across(value) - 4, "end") if is_far else (across(value) + 4, "start")
        body.append(drawing.label(x, 18 + 14 * row, f"{name} {value:.0f} ms", anchor=anchor))
    body.append(drawing.label(0, 24, f"{len(waits)} measured", kind="lane"))
    body += drawing.time_axis(across, y=126, unit="ms")
    rows = [(f"{low:.0f} to {high:.0f}", str(count)) for low, high, count in bins if count]
    return Chart(drawing.svg(body, height=150, title=title), ("ms", "count"), rows)


def _histogram(values: Sequence[float], bins: int) -> list[tuple[float, float, int]]:
    width = (values[-1] or 1.0) / bins
    counts = [0] * bins
    for value in values:
        counts[min(int(value / width), bins - 1)] += 1
    return [(index * width, (index + 1) * width, count) for index, count in enumerate(counts)]
