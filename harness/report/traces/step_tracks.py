"""Tracks of the subject's steps: one for each thread."""

from collections.abc import Iterator

import numpy as np

from harness.history import histories, records
from harness.report import evidence
from harness.report.traces import trace_events

STEPS_MAX = 200_000
"""Steps that are kept, besides as many near double allocations."""


class StepTracks:
    """Reads the steps and counts those that are left out."""

    def __init__(self, source: evidence.Evidence) -> None:
        self._source = source
        self._near = trace_events.nearness(source.holds)
        self._tracks: dict[str, int] = {}
        self._kept = self._kept_near = 0
        self.left_out = 0

    def events(self) -> Iterator[trace_events.Event]:
        """Yield the names of the tracks and the steps."""
        history = self._source.history
        for process in history.expected_steps():
            yield from self._of_process(process, history)

    def _of_process(self, process: str, history: histories.History) -> Iterator[trace_events.Event]:
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
                yield trace_events.track_name(trace_events.SUBJECT_PID, self._tracks[name], name)
            yield {
                "ph": "i",
                "s": "t",
                "pid": trace_events.SUBJECT_PID,
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
