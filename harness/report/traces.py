"""trace.json for ui.perfetto.dev: holds by device and steps by thread, as Chrome trace events."""

import itertools
from collections.abc import Iterator
from typing import Any

import msgspec

from harness.history import records
from harness.report import evidence

DEVICES_PID, SUBJECT_PID = 1, 2
STEPS_MAX = 200_000
"""Steps in a trace."""

Event = dict[str, Any]


def render(source: evidence.Evidence) -> bytes:
    """Return trace.json; at most STEPS_MAX steps, else `steps_cut` is true."""
    steps = list(itertools.islice(_steps(source), STEPS_MAX + 1))
    cut = len(steps) > STEPS_MAX
    events = [*_names(), *_holds(source), *steps[:STEPS_MAX]]
    document = {
        "traceEvents": events,
        "otherData": {"steps_cut": cut, "run": source.judgement.run_id},
    }
    return msgspec.json.encode(document)


def _names() -> Iterator[Event]:
    for pid, name in ((DEVICES_PID, "devices"), (SUBJECT_PID, "subject")):
        yield {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}}


def _holds(source: evidence.Evidence) -> Iterator[Event]:
    lanes = {
        name: i for i, name in enumerate(sorted({hold.device for hold in source.folded.holds}))
    }
    for name, lane in lanes.items():
        yield {
            "ph": "M",
            "pid": DEVICES_PID,
            "tid": lane,
            "name": "thread_name",
            "args": {"name": name},
        }
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


def _steps(source: evidence.Evidence) -> Iterator[Event]:
    threads: dict[str, int] = {}
    for process in source.history.expected_steps():
        for step in source.history.steps(process) or ():
            if isinstance(step, records.Step):
                name = f"{process}/{step.thread}"
                if name not in threads:
                    threads[name] = len(threads)
                    yield {
                        "ph": "M",
                        "pid": SUBJECT_PID,
                        "tid": threads[name],
                        "name": "thread_name",
                        "args": {"name": name},
                    }
                yield {
                    "ph": "i",
                    "s": "t",
                    "pid": SUBJECT_PID,
                    "tid": threads[name],
                    "name": step.name,
                    "ts": (step.ts_ns - source.started_ns) / 1e3,
                    "args": step.fields,
                }
