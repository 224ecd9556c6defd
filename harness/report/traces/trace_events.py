"""Events of a trace as JSON, and the tracks on which spans do not overlap."""

import heapq
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from harness.report import hold_tables

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


def depths(spans: Iterable[tuple[int, int]]) -> list[int]:
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
    """Tells what happened close to the begin of a double allocation."""

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
