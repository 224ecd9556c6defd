"""The whole trace as one document, gzipped past a size."""

import gzip
from collections.abc import Iterator

import msgspec

from harness.report import evidence
from harness.report.traces import (
    counter_tracks,
    fault_tracks,
    hold_tracks,
    step_tracks,
    trace_events,
)

PLAIN_MAX = 2**16
"""Bytes of the largest trace.json; a larger trace is written as trace.json.gz."""
_LEVEL = 4
"""Of the compression: a quarter of the time of the best one, for a tenth more bytes."""


def render(source: evidence.Evidence) -> bytes:
    """Return the trace as JSON; `otherData` tells how much is left out."""
    rows = hold_tracks.chosen(source.holds)
    steps = step_tracks.StepTracks(source)
    parts = [trace_events.encoded(event) for event in _names(source)]
    parts += hold_tracks.events(source.holds, rows)
    parts += map(trace_events.encoded, _others(source, steps))
    about = {
        "run": source.judgement.run_id,
        "holds": len(source.holds),
        "holds_left_out": len(source.holds) - len(rows),
        "steps_left_out": steps.left_out,
        "kept": f"all within {trace_events.NEAR_NS // 10**6} ms of a double allocation",
    }
    return b'{"traceEvents":[%s],"otherData":%s}' % (b",".join(parts), msgspec.json.encode(about))


def is_large(document: bytes) -> bool:
    """Return whether a trace is written compressed."""
    return len(document) > PLAIN_MAX


def compressed(document: bytes) -> bytes:
    """Return the same bytes for the same trace."""
    return gzip.compress(document, _LEVEL, mtime=0)


def _names(source: evidence.Evidence) -> Iterator[trace_events.Event]:
    yield trace_events.process_name(trace_events.DEVICES_PID, "devices")
    yield trace_events.process_name(trace_events.SUBJECT_PID, "subject")
    if source.faults.is_expected:
        yield trace_events.process_name(trace_events.FAULTS_PID, "faults")
    yield trace_events.process_name(trace_events.COUNTERS_PID, "counters")


def _others(
    source: evidence.Evidence, steps: step_tracks.StepTracks
) -> Iterator[trace_events.Event]:
    yield from fault_tracks.events(source.faults, started_ns=source.started_ns)
    yield from counter_tracks.events(source)
    yield from steps.events()
