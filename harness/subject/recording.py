"""Writes every named step of a subject process into its steps file.

The shapes are those of the harness's records (header, step, trailer), written here by hand: the subject shares no code with
those who judge it, and runs without them.
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


class StepRecorder:
    """A listener of steps. Each step is one write(2), and no lock is held: recording orders nothing, and a killed process loses none."""

    def __init__(self, path: pathlib.Path, *, process: str, run_id: str) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        self._fd = os.open(path, flags, 0o644)
        self._numbers = itertools.count()
        self._put(
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

    def __call__(self, name: str, fields: concurrency.StepFields) -> None:
        """Record a step. `seq` gives the order of all threads' steps; lines of two threads may change places in the file."""
        self._put(
            {
                "record": "step",
                "seq": next(self._numbers),
                "ts_ns": time.monotonic_ns(),
                "thread": threading.current_thread().name,
                "name": name,
                "fields": fields,
            }
        )

    def close(self) -> None:
        """End the file in order; every thread that took steps must have ended."""
        count = next(self._numbers)
        self._put({"record": "trailer", "count": count, "ts_ns": time.monotonic_ns()})
        os.close(self._fd)

    def _put(self, document: dict[str, Any]) -> None:
        os.write(self._fd, _encoder.encode(document) + b"\n")


def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return "unknown"
