"""Writes every named step of a subject process to its steps file, and other records to others.

The records have the same shapes as those of `history.records` (header, step, trailer), but are
written independently: the subject runs without the rest of the harness and shares no code with the
checks.
"""

import itertools
import os
import pathlib
import threading
import time
from typing import Any

import msgspec

from harness import concurrency

SCHEMA_VERSION = 1
_BOOT_ID = pathlib.Path("/proc/sys/kernel/random/boot_id")
_encoder = msgspec.json.Encoder()


class LineFile:
    """A file of records, each appended with one write(2) call.

    No lock is held, so that recording does not order the threads, and a killed process loses
    nothing that it recorded.
    """

    def __init__(self, path: pathlib.Path, *, process: str, run_id: str) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        self._fd = os.open(path, flags, 0o644)
        self._numbers = itertools.count()
        self.put(
            {
                "record": "header",
                "schema": SCHEMA_VERSION,
                "process": process,
                "run_id": run_id,
                "boot_id": _boot_id(),
                "pid": os.getpid(),
                "started_wall_ns": time.time_ns(),
            }
        )

    def next_number(self) -> int:
        """Return the number of the next record, from 0 on; call it once for each."""
        return next(self._numbers)

    def put(self, document: dict[str, Any]) -> None:
        """Append a record that has got a number."""
        os.write(self._fd, _encoder.encode(document) + b"\n")

    def close(self) -> None:
        """Write the trailer and close the file; all threads that add records must have ended."""
        count = next(self._numbers)
        self.put({"record": "trailer", "count": count, "ts_ns": time.monotonic_ns()})
        os.close(self._fd)


class StepRecorder(LineFile):
    """A step listener that appends each step to a file."""

    def __call__(self, name: str, fields: concurrency.StepFields) -> None:
        """Record a step; `seq` is their order, as lines of threads may be swapped in the file."""
        self.put(
            {
                "record": "step",
                "seq": self.next_number(),
                "ts_ns": time.monotonic_ns(),
                "thread": threading.current_thread().name,
                "name": name,
                "fields": fields,
            }
        )


def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return "unknown"
