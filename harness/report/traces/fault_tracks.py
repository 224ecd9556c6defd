"""Tracks of the faults: a span while each one is on, an instant for each effect."""

from collections.abc import Iterator, Sequence

from harness.checks.faults import fault_records
from harness.history import records
from harness.report.traces import trace_events

EFFECTS_MAX = 100_000
"""Effects of faults in a trace."""


def events(found: fault_records.FaultRecords, *, started_ns: int) -> Iterator[trace_events.Event]:
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
        depths = trace_events.depths((item.begun_ns, item.ended_ns) for item in windows)
        count = max(depths, default=0) + 1
        for number in range(count):
            more = f" ({number + 1})" if number else ""
            yield trace_events.track_name(trace_events.FAULTS_PID, track + number, f"{name}{more}")
        yield from _windows(windows, [track + depth for depth in depths], started_ns)
        mine = [item for item in applications if item.fault == name]
        yield from (_effect(item, track, started_ns) for item in mine)
        track += count


def _windows(
    windows: Sequence[records.FaultWindow], tracks: Sequence[int], started_ns: int
) -> Iterator[trace_events.Event]:
    for window, track in zip(windows, tracks, strict=True):
        yield {
            "ph": "X",
            "pid": trace_events.FAULTS_PID,
            "tid": track,
            "name": f"{window.fault} is on",
            "ts": (window.begun_ns - started_ns) / 1e3,
            "dur": max(window.ended_ns - window.begun_ns, 1) / 1e3,
            "args": {"kind": window.kind, "applied_count": window.applied_count},
        }


def _effect(item: records.FaultApplied, track: int, started_ns: int) -> trace_events.Event:
    lasted_ns = None if item.ended_ns is None else item.ended_ns - item.begun_ns
    return {
        "ph": "i",
        "s": "t",
        "pid": trace_events.FAULTS_PID,
        "tid": track,
        "name": item.name or item.process or item.resource,
        "ts": (item.begun_ns - started_ns) / 1e3,
        "args": {
            "client": item.client,
            "resource_version": item.resource_version,
            "lasted_ms": None if lasted_ns is None else lasted_ns / 1e6,
        },
    }
