"""Writes processes.jsonl: the phases of a run, and the starts, pauses and ends of its processes."""

import threading
from collections.abc import Callable, Sequence

from harness import clocks, errors, writing
from harness.history import directories, journal_writer, records


class RunJournal:
    """The journal of one run. Thread-safe: faults end processes from a thread of their own."""

    def __init__(self, directory: directories.RunDirectory, *, run_id: str) -> None:
        self._writer = journal_writer.Writer(directory.processes, process="run", run_id=run_id)
        self._guard = threading.Lock()
        self.failure: errors.HarnessError | None = None
        """The error that keeps the journal from being written; None: it can be written.

        It ends the run, but the processes are still stopped in order.
        """

    def phase(self, name: str, *, detail: str = "") -> None:
        """Record that the run enters a phase."""
        self._write(records.Phase(name=name, detail=detail, ts_ns=clocks.monotonic_ns()))

    def started(self, process: str, pid: int, argv: Sequence[str]) -> None:
        """Record the start of a process."""
        self._write(
            records.ProcessStarted(
                process=process, pid=pid, argv=list(argv), ts_ns=clocks.monotonic_ns()
            )
        )

    def paused(self, process: str, pid: int, *, fault: str) -> None:
        """Record that a fault has paused a process."""
        self._write(
            records.ProcessPaused(
                process=process, pid=pid, fault=fault, ts_ns=clocks.monotonic_ns()
            )
        )

    def resumed(self, process: str, pid: int) -> None:
        """Record that a paused process continues."""
        self._write(records.ProcessResumed(process=process, pid=pid, ts_ns=clocks.monotonic_ns()))

    def ended(
        self,
        process: str,
        pid: int,
        exit_code: int,
        *,
        expected: bool,
        fault: str,
        lease_lost: bool,
    ) -> None:
        """Record the end of a process; `fault` is the name of the fault that ended it, if any."""
        self._write(
            records.ProcessEnded(
                process=process,
                pid=pid,
                exit_code=exit_code,
                expected=expected,
                fault=fault,
                lease_lost=lease_lost,
                ts_ns=clocks.monotonic_ns(),
            )
        )

    def memory(self, sample: records.MemoryUsed) -> None:
        """Record how much memory a process has."""
        self._write(sample)

    def close(self) -> None:
        """Close the journal, unless it could not be written."""
        self._try(self._writer.close)

    def _write(self, record: records.Body) -> None:
        self._try(lambda: self._writer.write(record))

    def _try(self, write: Callable[[], None]) -> None:
        with self._guard:
            if self.failure is not None:
                return
            try:
                write()
            except OSError as error:
                self.failure = writing.explain(error)
