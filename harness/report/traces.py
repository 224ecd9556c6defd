"""The trace of a run for ui.perfetto.dev: holds, steps, faults and counters, in one document.

Holds that overlap get tracks of their own below their device. Past a size it is gzipped.
"""

import collections
import functools
import gzip
import heapq
import itertools
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from harness.checks.holds import hold_history
from harness.history import records
from harness.report import binning, evidence, hold_tables

DEVICES_PID, SUBJECT_PID, FAULTS_PID, COUNTERS_PID = 1, 2, 3, 4
NEAR_NS = 100_000_000
"""Nothing that is closer to the begin of a double allocation is left out."""
HOLDS_MAX = 300_000
"""Holds that are kept, besides those of double allocations."""
STEPS_MAX = 200_000
"""Steps that are kept, besides as many near double allocations."""
EFFECTS_MAX = 100_000
"""Effects of faults in a trace."""
BINS = 1_000
"""Values of each counter over the run."""
PLAIN_MAX = 2**16
"""Bytes of the largest trace.json; a larger trace is written as trace.json.gz."""
_LEVEL = 4
"""Level of the compression: a quarter of the time of the best one, for a tenth more bytes."""
_NAMED_MAX = 2
"""Claims that the name of a track names."""

Event = dict[str, Any]


def render(source: evidence.Evidence) -> bytes:
    """Return the trace as JSON; `otherData` says how much is left out."""
    holds, rows = source.holds, chosen(source.holds)
    steps = _Steps(source)
    pids = {"devices": DEVICES_PID, "subject": SUBJECT_PID, "faults": FAULTS_PID}
    parts = [
        _encoded({"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}})
        for name, pid in {**pids, "counters": COUNTERS_PID}.items()
        if name != "faults" or source.faults.is_expected
    ]
    parts += hold_events(holds, rows)
    others = (fault_events(source), counter_events(source), steps.events())
    parts += map(_encoded, itertools.chain.from_iterable(others))
    about = {
        "run": source.judgement.run_id,
        "holds": len(holds.device),
        "holds_left_out": len(holds.device) - len(rows),
        "steps_left_out": steps.left_out,
        "kept": f"all within {NEAR_NS // 10**6} ms of a double allocation",
    }
    return b'{"traceEvents":[%s],"otherData":%s}' % (b",".join(parts), _encoded(about))


def is_large(document: bytes) -> bool:
    return len(document) > PLAIN_MAX


def compressed(document: bytes) -> bytes:
    return gzip.compress(document, _LEVEL, mtime=0)


_encoded = msgspec.json.encode


def _track(pid: int, track: int, name: str) -> Event:
    return {"ph": "M", "pid": pid, "tid": track, "name": "thread_name", "args": {"name": name}}


def _mark(pid: int, track: int, name: str, at_ns: int, args: Event) -> Event:
    at = {"ph": "i", "s": "t", "pid": pid, "tid": track}
    return {**at, "name": name, "ts": at_ns / 1e3, "args": args}


def microseconds(ns: int) -> str:
    """Return nanoseconds as the format's microseconds, exactly."""
    sign, ns = ("-", -ns) if ns < 0 else ("", ns)
    return f"{sign}{ns // 1000}.{ns % 1000:03}"


def _depths(spans: Iterable[tuple[int, int]]) -> list[int]:
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


# ------------------------------------------------------------------------- holds of devices


def chosen(holds: hold_tables.HoldTable) -> hold_tables.Integers:
    """Return the rows to show: all, or those near double allocations and evenly spaced others."""
    count = len(holds.device)
    if count <= HOLDS_MAX:
        return np.arange(count)
    begins = holds.begins_of_doubles
    first = np.searchsorted(begins, holds.from_ns - NEAR_NS, side="left")
    near = np.searchsorted(begins, holds.until_ns + NEAR_NS, side="right") > first
    keep = np.zeros(count, dtype=bool)
    keep[_evenly(np.flatnonzero(near), HOLDS_MAX)] = True
    keep[_evenly(np.flatnonzero(~keep), HOLDS_MAX - int(keep.sum()))] = True
    keep[holds.doubled] = True
    return np.flatnonzero(keep)


def _evenly(rows: hold_tables.Integers, limit: int) -> hold_tables.Integers:
    if len(rows) <= limit:
        return rows
    found: hold_tables.Integers = rows[np.linspace(0, len(rows) - 1, limit).astype(np.int64)]
    return found


def hold_events(holds: hold_tables.HoldTable, rows: hold_tables.Integers) -> Iterator[bytes]:
    """Yield the names of the tracks and the holds of the chosen rows."""
    order = rows[np.lexsort((holds.from_rv[rows], holds.from_ns[rows], holds.device[rows]))]
    columns = (
        holds.device,
        holds.from_ns,
        holds.until_ns,
        holds.claim,
        holds.from_rv,
        holds.until_rv,
    )
    found = zip(*(column[order].tolist() for column in columns), strict=True)

    @functools.cache
    def texts(claim: int) -> tuple[str, str]:
        return _encoded(holds.lives[claim].name).decode(), _encoded(holds.uids[claim]).decode()

    track = itertools.count()
    for device, group in itertools.groupby(found, key=operator.itemgetter(0)):
        members = list(group)
        depths = _depths((member[1], member[2]) for member in members)
        numbers = [next(track) for _ in range(max(depths) + 1)]
        claims = [holds.lives[member[3]].name for member in members]
        yield from _track_names(holds.devices[device], numbers, claims, depths)
        for (_, begin, end, claim, from_rv, until_rv), depth in zip(members, depths, strict=True):
            name, uid = texts(claim)
            yield (
                f'{{"ph":"X","pid":{DEVICES_PID},"tid":{numbers[depth]},"name":{name},'
                f'"ts":{microseconds(begin)},'
                f'"dur":{microseconds(max(end - begin, 1))},'
                f'"args":{{"uid":{uid},"from_rv":{from_rv},'
                f'"until_rv":{until_rv if until_rv < holds.end_rv else "null"}}}}}'
            ).encode()


def _track_names(
    device: str, numbers: Sequence[int], claims: Sequence[str], depths: Sequence[int]
) -> Iterator[bytes]:
    named: dict[int, list[str]] = collections.defaultdict(list)
    for claim, depth in zip(claims, depths, strict=True):
        if depth and len(named[depth]) < _NAMED_MAX:
            named[depth].append(claim)
    for depth, number in enumerate(numbers):
        more = f" · overlaps: {', '.join(named[depth])}" if depth else ""
        more += " …" if depth and depths.count(depth) > len(named[depth]) else ""
        name = _track(DEVICES_PID, number, f"{device}{more}")
        yield _encoded(name)
        yield _encoded({**name, "name": "thread_sort_index", "args": {"sort_index": number}})


# -------------------------------------------------------------------- faults, counters, steps


def fault_events(source: evidence.Evidence) -> Iterator[Event]:
    """Yield a track for each fault, and further ones for windows of it that overlap.

    Effects that last, like delays, overlap, which spans of one track cannot show; their durations
    are arguments.
    """
    applications, track = source.faults.applications[:EFFECTS_MAX], 0
    names = [item.fault for item in source.faults.windows] + [item.fault for item in applications]
    for name in dict.fromkeys(names):
        windows = [item for item in source.faults.windows if item.fault == name]
        windows.sort(key=operator.attrgetter("begun_ns"))
        depths = _depths((item.begun_ns, item.ended_ns) for item in windows)
        count = max(depths, default=0) + 1
        for number in range(count):
            yield _track(FAULTS_PID, track + number, f"{name} ({number + 1})" if number else name)
        for window, depth in zip(windows, depths, strict=True):
            yield {
                "ph": "X",
                "pid": FAULTS_PID,
                "tid": track + depth,
                "name": f"{window.fault} is on",
                "ts": (window.begun_ns - source.started_ns) / 1e3,
                "dur": max(window.ended_ns - window.begun_ns, 1) / 1e3,
                "args": {"kind": window.kind, "applied_count": window.applied_count},
            }
        for item in applications:
            if item.fault == name:
                lasted = None if item.ended_ns is None else (item.ended_ns - item.begun_ns) / 1e6
                text = item.name or item.process or item.resource
                args = {"client": item.client, "resource_version": item.resource_version}
                at_ns, more = item.begun_ns - source.started_ns, {"lasted_ms": lasted}
                yield _mark(FAULTS_PID, track, text, at_ns, args | more)
        track += count


def counter_events(source: evidence.Evidence) -> Iterator[Event]:
    """Yield the changes of each counter; a value is the highest one of its part of the run."""
    edges = np.linspace(0, max(source.ended_ns - source.started_ns, 1), BINS + 1)
    begins, ends = _waits(source.folded.pods.values(), source.started_ns)
    yield from _counter("pods waiting", binning.highest(begins, ends, edges), edges)
    begins, ends = (at.astype(np.float64) for at in (source.holds.from_ns, source.holds.until_ns))
    yield from _counter("devices held", binning.highest(begins, ends, edges), edges)
    rates = binning.counts(begins, edges) / (np.diff(edges) / 1e9)
    yield from _counter("allocations/s", rates, edges)


def _waits(
    pods: Iterable[hold_history.Life], started_ns: int
) -> tuple[binning.Times, binning.Times]:
    lives = list(pods)
    left = [[at for at in (life.ready_ns, life.gone_ns) if at is not None] for life in lives]
    begins = np.array([life.seen_ns for life in lives], dtype=np.int64)
    ends = np.array([min(times) for times in left if times], dtype=np.int64)
    return (begins - started_ns).astype(np.float64), (ends - started_ns).astype(np.float64)


def _counter(name: str, values: binning.Floats, edges: binning.Times) -> Iterator[Event]:
    before = None
    for at_ns, value in zip(edges.tolist(), values.tolist(), strict=False):
        if value != before:
            before, args = value, {"value": round(value, 3)}
            at = {"ph": "C", "pid": COUNTERS_PID, "name": name, "ts": round(at_ns) / 1e3}
            yield {**at, "args": args}


class _Steps:
    def __init__(self, source: evidence.Evidence) -> None:
        self._source = source
        self._begins = source.holds.begins_of_doubles
        self._kept = self._kept_near = 0
        self.left_out = 0

    def events(self) -> Iterator[Event]:
        history, tracks = self._source.history, dict[str, int]()
        for process in history.expected_steps():
            for step in history.steps(process) or ():
                if not isinstance(step, records.Step):
                    continue
                at_ns = step.ts_ns - self._source.started_ns
                if not self._keeps(at_ns):
                    self.left_out += 1
                    continue
                name = f"{process}/{step.thread}"
                if name not in tracks:
                    tracks[name] = len(tracks)
                    yield _track(SUBJECT_PID, tracks[name], name)
                yield _mark(SUBJECT_PID, tracks[name], step.name, at_ns, step.fields)

    def _keeps(self, at_ns: int) -> bool:
        if self._kept < STEPS_MAX:
            self._kept += 1
            return True
        first = self._begins.searchsorted(at_ns - NEAR_NS)
        is_near = self._begins.searchsorted(at_ns + NEAR_NS, side="right") > first
        if is_near and self._kept_near < STEPS_MAX:
            self._kept_near += 1
            return True
        return False
