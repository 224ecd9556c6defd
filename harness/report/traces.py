"""The trace of a run for ui.perfetto.dev: holds, steps, faults and counters, in one document.

Holds that overlap get tracks of their own below their device. Past a size it is gzipped.
"""

import collections
import dataclasses
import gzip
import heapq
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from harness.checks.faults import fault_records
from harness.checks.holds import hold_history
from harness.history import histories, records
from harness.report import binning, evidence, hold_tables

DEVICES_PID, SUBJECT_PID, FAULTS_PID, COUNTERS_PID = 1, 2, 3, 4
NEAR_NS = 100_000_000
"""Nothing that is closer to the begin of a double allocation is left out."""

Event = dict[str, Any]


def encoded(event: Event) -> bytes:
    """Return an event as JSON."""
    return msgspec.json.encode(event)


def process_name(pid: int, name: str) -> Event:
    """Return the name of a group of tracks, which are shown in the order of their numbers."""
    return {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}}


def track_name(pid: int, track: int, name: str) -> Event:
    """Return the name of a track."""
    return {"ph": "M", "pid": pid, "tid": track, "name": "thread_name", "args": {"name": name}}


def microseconds(ns: int) -> str:
    """Return nanoseconds as the format's microseconds, exactly."""
    sign, ns = ("-", -ns) if ns < 0 else ("", ns)
    return f"{sign}{ns // 1000}.{ns % 1000:03}"


def span_depths(spans: Iterable[tuple[int, int]]) -> list[int]:
    """Return for each span the first track on which no earlier span overlaps it.

    `spans` are begin and end, ordered by their begins.
    """
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    found: list[int] = []
    for begin, end in spans:
        while busy and busy[0][0] <= begin:
            heapq.heappush(free, heapq.heappop(busy)[1])
        depth = heapq.heappop(free) if free else len(busy)
        heapq.heappush(busy, (max(end, begin + 1), depth))
        found.append(depth)
    return found


class Nearness:
    """Describes what happened close to the begin of a double allocation."""

    def __init__(self, begins_ns: Sequence[int]) -> None:
        """`begins_ns` since the start of the run, in any order."""
        merged: list[list[int]] = []
        for begin in sorted(begins_ns):
            if merged and begin - NEAR_NS <= merged[-1][1]:
                merged[-1][1] = begin + NEAR_NS
            else:
                merged.append([begin - NEAR_NS, begin + NEAR_NS])
        self.starts = [start for start, _ in merged]
        self.ends = [end for _, end in merged]


def nearness(holds: hold_tables.HoldTable) -> Nearness:
    """Return what is near the double allocations of a run."""
    return Nearness(holds.begins_of_doubles().tolist())


BINS = 1_000
"""Values of each counter over the run."""


def counter_events(source: evidence.Evidence) -> Iterator[Event]:
    """Yield the changes of each counter; a value is the highest one of its part of the run."""
    edges = np.linspace(0, max(source.ended_ns - source.started_ns, 1), BINS + 1)
    begins, ends = pod_waits(source.folded.pods.values(), started_ns=source.started_ns)
    yield from _counter("pods waiting", binning.highest(begins, ends, edges), edges)
    begins, ends = (at.astype(np.float64) for at in (source.holds.from_ns, source.holds.until_ns))
    yield from _counter("devices held", binning.highest(begins, ends, edges), edges)
    rates = binning.counts(begins, edges) / (np.diff(edges) / 1e9)
    yield from _counter("allocations/s", rates, edges)


def pod_waits(
    pods: Iterable[hold_history.Life], *, started_ns: int
) -> tuple[binning.Times, binning.Times]:
    """Return when pods began to wait, and when they ran or went; nanoseconds since the start."""
    begins, ends = [], []
    for life in pods:
        begins.append(life.seen_ns - started_ns)
        left = [at for at in (life.ready_ns, life.gone_ns) if at is not None]
        if left:
            ends.append(min(left) - started_ns)
    return np.array(begins, dtype=np.float64), np.array(ends, dtype=np.float64)


def _counter(name: str, values: binning.Floats, edges: binning.Times) -> Iterator[Event]:
    before = None
    for at_ns, value in zip(edges.tolist(), values.tolist(), strict=False):
        if value != before:
            before = value
            yield {
                "ph": "C",
                "pid": COUNTERS_PID,
                "name": name,
                "ts": round(at_ns) / 1e3,
                "args": {"value": round(value, 3)},
            }


STEPS_MAX = 200_000
"""Steps that are kept, besides as many near double allocations."""


class StepTracks:
    """Reads the steps and counts those that are left out."""

    def __init__(self, source: evidence.Evidence) -> None:
        self._source = source
        self._near = nearness(source.holds)
        self._tracks: dict[str, int] = {}
        self._kept = self._kept_near = 0
        self.left_out = 0

    def events(self) -> Iterator[Event]:
        """Yield the names of the tracks and the steps."""
        history = self._source.history
        for process in history.expected_steps():
            yield from self._of_process(process, history)

    def _of_process(self, process: str, history: histories.History) -> Iterator[Event]:
        for step in history.steps(process) or ():
            if not isinstance(step, records.Step):
                continue
            at_ns = step.ts_ns - self._source.started_ns
            if not self._keeps(at_ns):
                self.left_out += 1
                continue
            name = f"{process}/{step.thread}"
            if name not in self._tracks:
                self._tracks[name] = len(self._tracks)
                yield track_name(SUBJECT_PID, self._tracks[name], name)
            yield {
                "ph": "i",
                "s": "t",
                "pid": SUBJECT_PID,
                "tid": self._tracks[name],
                "name": step.name,
                "ts": at_ns / 1e3,
                "args": step.fields,
            }

    def _keeps(self, at_ns: int) -> bool:
        if self._kept < STEPS_MAX:
            self._kept += 1
            return True
        index = int(np.searchsorted(self._near.starts, at_ns, side="right")) - 1
        is_near = index >= 0 and at_ns <= self._near.ends[index]
        if is_near and self._kept_near < STEPS_MAX:
            self._kept_near += 1
            return True
        return False


EFFECTS_MAX = 100_000
"""Effects of faults in a trace."""


def fault_events(found: fault_records.FaultRecords, *, started_ns: int) -> Iterator[Event]:
    """Yield a track for each fault, and further ones for windows of it that overlap.

    Effects that last, like delays, overlap, which spans of one track cannot show; their durations
    are arguments.
    """
    applications = found.applications[:EFFECTS_MAX]
    names = [item.fault for item in found.windows] + [item.fault for item in applications]
    track = 0
    for name in dict.fromkeys(names):
        windows = sorted(
            (item for item in found.windows if item.fault == name), key=lambda item: item.begun_ns
        )
        depths = span_depths((item.begun_ns, item.ended_ns) for item in windows)
        count = max(depths, default=0) + 1
        for number in range(count):
            more = f" ({number + 1})" if number else ""
            yield track_name(FAULTS_PID, track + number, f"{name}{more}")
        yield from _windows(windows, [track + depth for depth in depths], started_ns)
        mine = [item for item in applications if item.fault == name]
        yield from (_effect(item, track, started_ns) for item in mine)
        track += count


def _windows(
    windows: Sequence[records.FaultWindow], tracks: Sequence[int], started_ns: int
) -> Iterator[Event]:
    for window, track in zip(windows, tracks, strict=True):
        yield {
            "ph": "X",
            "pid": FAULTS_PID,
            "tid": track,
            "name": f"{window.fault} is on",
            "ts": (window.begun_ns - started_ns) / 1e3,
            "dur": max(window.ended_ns - window.begun_ns, 1) / 1e3,
            "args": {"kind": window.kind, "applied_count": window.applied_count},
        }


def _effect(item: records.FaultApplied, track: int, started_ns: int) -> Event:
    lasted_ns = None if item.ended_ns is None else item.ended_ns - item.begun_ns
    return {
        "ph": "i",
        "s": "t",
        "pid": FAULTS_PID,
        "tid": track,
        "name": item.name or item.process or item.resource,
        "ts": (item.begun_ns - started_ns) / 1e3,
        "args": {
            "client": item.client,
            "resource_version": item.resource_version,
            "lasted_ms": None if lasted_ns is None else lasted_ns / 1e6,
        },
    }


HOLDS_MAX = 300_000
"""Holds that are kept, besides those of double allocations."""
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
    near = nearness(holds)
    if not near.starts:
        return np.zeros(len(holds), dtype=bool)
    index = np.searchsorted(np.array(near.starts), holds.until_ns, side="right") - 1
    found: np.ndarray[tuple[int], np.dtype[np.bool_]] = (index >= 0) & (
        holds.from_ns <= np.array(near.ends)[np.maximum(index, 0)]
    )
    return found


def hold_events(holds: hold_tables.HoldTable, rows: hold_tables.Integers) -> Iterator[bytes]:
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
        depths = span_depths(spans)
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
            found = self._known[claim] = _json_text(name), _json_text(uid)
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
        name = track_name(DEVICES_PID, number, f"{device}{more}")
        yield encoded(name)
        sort = {**name, "name": "thread_sort_index", "args": {"sort_index": number}}
        yield encoded(sort)


def _span(found: _Columns, item: int, track: int, names: _Names) -> bytes:
    name, uid = names.of(found.claim[item])
    begin, end = found.from_ns[item], found.until_ns[item]
    until = found.until_rv[item]
    return (
        f'{{"ph":"X","pid":{DEVICES_PID},"tid":{track},"name":{name},'
        f'"ts":{microseconds(begin)},'
        f'"dur":{microseconds(max(end - begin, 1))},'
        f'"args":{{"uid":{uid},"from_rv":{found.from_rv[item]},'
        f'"until_rv":{until if until < names.end_rv else "null"}}}}}'
    ).encode()


def _json_text(text: str) -> str:
    return msgspec.json.encode(text).decode()


PLAIN_MAX = 2**16
"""Bytes of the largest trace.json; a larger trace is written as trace.json.gz."""
_LEVEL = 4
"""Level of the compression: a quarter of the time of the best one, for a tenth more bytes."""


def render(source: evidence.Evidence) -> bytes:
    """Return the trace as JSON; `otherData` says how much is left out."""
    rows = chosen(source.holds)
    steps = StepTracks(source)
    parts = [encoded(event) for event in _names(source)]
    parts += hold_events(source.holds, rows)
    parts += map(encoded, _others(source, steps))
    about = {
        "run": source.judgement.run_id,
        "holds": len(source.holds),
        "holds_left_out": len(source.holds) - len(rows),
        "steps_left_out": steps.left_out,
        "kept": f"all within {NEAR_NS // 10**6} ms of a double allocation",
    }
    return b'{"traceEvents":[%s],"otherData":%s}' % (b",".join(parts), msgspec.json.encode(about))


def is_large(document: bytes) -> bool:
    """Return whether a trace is written compressed."""
    return len(document) > PLAIN_MAX


def compressed(document: bytes) -> bytes:
    """Return the same bytes for the same trace."""
    return gzip.compress(document, _LEVEL, mtime=0)


def _names(source: evidence.Evidence) -> Iterator[Event]:
    yield process_name(DEVICES_PID, "devices")
    yield process_name(SUBJECT_PID, "subject")
    if source.faults.is_expected:
        yield process_name(FAULTS_PID, "faults")
    yield process_name(COUNTERS_PID, "counters")


def _others(source: evidence.Evidence, steps: StepTracks) -> Iterator[Event]:
    yield from fault_events(source.faults, started_ns=source.started_ns)
    yield from counter_events(source)
    yield from steps.events()
