"""Samples the memory of a run's processes while it goes on, for the record."""

import contextlib
from collections.abc import Callable, Mapping, Sequence

import psutil

from harness import clocks, concurrency
from harness.history import records

INTERVAL_S = 2.0
Pids = Mapping[str, Sequence[int]]
"""Name of a process of the run -> its process ids."""


class MemorySampler:
    """A thread that writes the memory of each process, once in INTERVAL_S."""

    def __init__(
        self,
        pids: Callable[[], Pids],
        write: Callable[[records.MemoryUsed], None],
        *,
        pods_ran: Callable[[], int],
    ) -> None:
        self._pids, self._write, self._pods_ran = pids, write, pods_ran
        self._stopped = concurrency.Event("memory-sampler.stopped")
        self._thread: concurrency.Thread | None = None

    def start(self) -> None:
        def run() -> None:
            while not self._stopped.wait(INTERVAL_S):
                self.sample()

        self._thread = concurrency.spawn("memory-sampler", run)

    def stop(self) -> None:
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()

    def sample(self) -> None:
        pods_ran = self._pods_ran()
        for name, pids in self._pids().items():
            used = sum(map(resident_bytes, pids))
            if used:
                self._write(
                    records.MemoryUsed(
                        process=name,
                        resident_bytes=used,
                        pods_ran=pods_ran,
                        ts_ns=clocks.monotonic_ns(),
                    )
                )


def resident_bytes(pid: int) -> int:
    """Return the memory of a process and its descendants; shared pages count several times."""
    total = 0
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        for member in (process, *process.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                total += member.memory_info().rss
    return total
