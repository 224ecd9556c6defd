"""trace.json for ui.perfetto.dev: holds by device, steps by thread, and faults.

The format is that of Chrome trace events.
"""

import itertools
from collections.abc import Iterator
from typing import Any

import msgspec

from harness.history import records
from harness.report import evidence

DEVICES_PID, SUBJECT_PID, FAULTS_PID = 1, 2, 3
STEPS_MAX = 200_000
"""Steps in a trace."""
EFFECTS_MAX = 100_000
"""Effects of faults in a trace."""

Event = dict[str, Any]


def render(source: evidence.Evidence) -> bytes:
    """Return trace.json; at most STEPS_MAX steps, else `steps_cut` is true."""
    steps = list(itertools.islice(_steps(source), STEPS_MAX + 1))
    cut = len(steps) > STEPS_MAX
    events = [*_names(source), *_holds(source), *_faults(source), *steps[:STEPS_MAX]]
    document = {
        "traceEvents": events,
        "otherData": {"steps_cut": cut, "run": source.judgement.run_id},
    }
    return msgspec.json.encode(document)


def _names(source: evidence.Evidence) -> Iterator[Event]:
    tracks = {DEVICES_PID: "devices", SUBJECT_PID: "subject"}
    if source.faults.is_expected:
        tracks[FAULTS_PID] = "faults"
    for pid, name in tracks.items():
        yield {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}}


def _holds(source: evidence.Evidence) -> Iterator[Event]:
    lanes = {
        name: i for i, name in enumerate(sorted({hold.device for hold in source.folded.holds}))
    }
    for name, lane in lanes.items():
        yield _thread_name(DEVICES_PID, lane, name)
    for hold in source.folded.holds:
        start = hold.from_ts_ns - source.started_ns
        end = (hold.until_ts_ns or source.ended_ns) - source.started_ns
        yield {
            "ph": "X",
            "pid": DEVICES_PID,
            "tid": lanes[hold.device],
            "name": hold.name,
            "ts": start / 1e3,
            "dur": max(end - start, 1) / 1e3,
            "args": {"uid": hold.uid, "from_rv": hold.from_rv, "until_rv": hold.until_rv},
        }


def _faults(source: evidence.Evidence) -> Iterator[Event]:
    """Yield a lane for each fault: a span while it is on, an instant for each effect.

    Effects that last, like delays, overlap, which spans of one lane cannot show; their durations
    are arguments.
    """
    found = source.faults
    applications = found.applications[:EFFECTS_MAX]
    names = [item.fault for item in found.windows] + [item.fault for item in applications]
    lanes = {name: index for index, name in enumerate(dict.fromkeys(names))}
    for name, lane in lanes.items():
        yield _thread_name(FAULTS_PID, lane, name)
    for window in found.windows:
        yield {
            "ph": "X",
            "pid": FAULTS_PID,
            "tid": lanes[window.fault],
            "name": f"{window.fault} is on",
            "ts": (window.begun_ns - source.started_ns) / 1e3,
            "dur": max(window.ended_ns - window.begun_ns, 1) / 1e3,
            "args": {"kind": window.kind, "applied_count": window.applied_count},
        }
    for item in applications:
        lasted_ns = None if item.ended_ns is None else item.ended_ns - item.begun_ns
        yield {
            "ph": "i",
            "s": "t",
            "pid": FAULTS_PID,
            "tid": lanes[item.fault],
            "name": item.name or item.process or item.resource,
            "ts": (item.begun_ns - source.started_ns) / 1e3,
            "args": {
                "client": item.client,
                "resource_version": item.resource_version,
                "lasted_ms": None if lasted_ns is None else lasted_ns / 1e6,
            },
        }


def _thread_name(pid: int, lane: int, name: str) -> Event:
    return {"ph": "M", "pid": pid, "tid": lane, "name": "thread_name", "args": {"name": name}}


def _steps(source: evidence.Evidence) -> Iterator[Event]:
    threads: dict[str, int] = {}
    for process in source.history.expected_steps():
        for step in source.history.steps(process) or ():
            if isinstance(step, records.Step):
                name = f"{process}/{step.thread}"
                if name not in threads:
                    threads[name] = len(threads)
                    yield _thread_name(SUBJECT_PID, threads[name], name)
                yield {
                    "ph": "i",
                    "s": "t",
                    "pid": SUBJECT_PID,
                    "tid": threads[name],
                    "name": step.name,
                    "ts": (step.ts_ns - source.started_ns) / 1e3,
                    "args": step.fields,
                }
