"""Tracks of the holds of each device; holds that overlap get tracks of their own below it."""

import collections
import dataclasses
import itertools
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from harness.report import hold_tables
from harness.report.traces import trace_events

HOLDS_MAX = 300_000
"""Holds that are kept, besides those of double allocations."""
_NAMED_MAX = 2
"""Claims that the name of a track names."""
_NAMED_MAX = 2
"""Claims that the name of a track names."""


def chosen(holds: hold_tables.HoldTable) -> hold_tables.Integers:
    """Return the rows to show: all, or those near double allocations and evenly spaced others."""
    rows = np.arange(len(holds))
    if len(rows) <= HOLDS_MAX:
        return rows
    keep = np.zeros(len(rows), dtype=bool)
    near = np.flatnonzero(_is_near(holds))
    keep[_evenly(near, HOLDS_MAX)] = True
    keep[_evenly(np.flatnonzero(~keep), HOLDS_MAX - int(keep.sum()))] = True
    keep[holds.doubled] = True
    return np.flatnonzero(keep)


def _evenly(rows: hold_tables.Integers, limit: int) -> hold_tables.Integers:
    """Return at most `limit` of the rows, at equal distances."""
    if len(rows) <= limit:
        return rows
    found: hold_tables.Integers = rows[
        np.linspace(0, len(rows) - 1, max(limit, 0)).astype(np.int64)
    ]
    return found


def _is_near(holds: hold_tables.HoldTable) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    near = trace_events.nearness(holds)
    if not near.starts:
        return np.zeros(len(holds), dtype=bool)
    index = np.searchsorted(np.array(near.starts), holds.until_ns, side="right") - 1
    found: np.ndarray[tuple[int], np.dtype[np.bool_]] = (index >= 0) & (
        holds.from_ns <= np.array(near.ends)[np.maximum(index, 0)]
    )
    return found


def events(holds: hold_tables.HoldTable, rows: hold_tables.Integers) -> Iterator[bytes]:
    """Yield the names of the tracks and the holds of the chosen rows."""
    order = rows[np.lexsort((holds.from_rv[rows], holds.from_ns[rows], holds.device[rows]))]
    found = _Columns(
        claim=holds.claim[order].tolist(),
        from_ns=holds.from_ns[order].tolist(),
        until_ns=holds.until_ns[order].tolist(),
        from_rv=holds.from_rv[order].tolist(),
        until_rv=holds.until_rv[order].tolist(),
    )
    names = _Names(holds)
    track = itertools.count()
    devices = holds.device[order].tolist()
    for device, group in itertools.groupby(range(len(order)), key=devices.__getitem__):
        members = list(group)
        spans = [(found.from_ns[item], found.until_ns[item]) for item in members]
        depths = trace_events.depths(spans)
        numbers = [next(track) for _ in range(max(depths) + 1)]
        claims = [found.claim[item] for item in members]
        yield from _track_names(holds.devices[device], numbers, claims, depths, holds)
        for item, depth in zip(members, depths, strict=True):
            yield _span(found, item, numbers[depth], names)


@dataclasses.dataclass(frozen=True, slots=True)
class _Columns:
    """The chosen holds as lists, whose elements are read much faster than those of arrays."""

    claim: list[int]
    from_ns: list[int]
    until_ns: list[int]
    from_rv: list[int]
    until_rv: list[int]


class _Names:
    """Names and uids of claims as JSON, made once for each claim."""

    def __init__(self, holds: hold_tables.HoldTable) -> None:
        self.end_rv = holds.end_rv
        self._holds = holds
        self._known: dict[int, tuple[str, str]] = {}

    def of(self, claim: int) -> tuple[str, str]:
        """Return the name and the uid of a claim."""
        found = self._known.get(claim)
        if found is None:
            name, uid = self._holds.lives[claim].name, self._holds.uids[claim]
            found = self._known[claim] = _json(name), _json(uid)
        return found


def _track_names(
    device: str,
    numbers: Sequence[int],
    claim_of: Sequence[int],
    depths: Sequence[int],
    holds: hold_tables.HoldTable,
) -> Iterator[bytes]:
    """Yield the name of the device, and of each track below it those of its claims."""
    claims: dict[int, list[str]] = collections.defaultdict(list)
    for claim, depth in zip(claim_of, depths, strict=True):
        if depth and len(claims[depth]) < _NAMED_MAX:
            claims[depth].append(holds.lives[claim].name)
    for depth, number in enumerate(numbers):
        more = f" · overlaps: {', '.join(claims[depth])}" if depth else ""
        more += " …" if depth and depths.count(depth) > len(claims[depth]) else ""
        name = trace_events.track_name(trace_events.DEVICES_PID, number, f"{device}{more}")
        yield trace_events.encoded(name)
        sort = {**name, "name": "thread_sort_index", "args": {"sort_index": number}}
        yield trace_events.encoded(sort)


def _span(found: _Columns, item: int, track: int, names: _Names) -> bytes:
    name, uid = names.of(found.claim[item])
    begin, end = found.from_ns[item], found.until_ns[item]
    until = found.until_rv[item]
    return (
        f'{{"ph":"X","pid":{trace_events.DEVICES_PID},"tid":{track},"name":{name},'
        f'"ts":{trace_events.microseconds(begin)},'
        f'"dur":{trace_events.microseconds(max(end - begin, 1))},'
        f'"args":{{"uid":{uid},"from_rv":{found.from_rv[item]},'
        f'"until_rv":{until if until < names.end_rv else "null"}}}}}'
    ).encode()


def _json(text: str) -> str:
    return msgspec.json.encode(text).decode()
