"""Writes traffic-workers.jsonl: which workers joined, left and were refused, and their clocks."""

from harness import clocks
from harness.history import directories, journal_writer, records
from harness.traffic.remote import admission, messages


class WorkerRecords:
    """The journal of the workers of one run, which the master writes."""

    def __init__(self, directory: directories.RunDirectory, *, run_id: str) -> None:
        self._writer = journal_writer.Writer(
            directory.traffic_workers, process="traffic", run_id=run_id
        )
        self._refused: set[str] = set()

    def joined(self, member: admission.Member, joining: messages.Joining) -> None:
        """Record host and clock of a worker that takes part."""
        self._writer.write(
            records.WorkerJoined(
                process=member.process,
                host=member.hello.host,
                boot_id=member.hello.boot_id,
                pid=member.hello.pid,
                offset_ns=joining.offset_ns,
                uncertainty_ns=joining.uncertainty_ns,
                ts_ns=clocks.monotonic_ns(),
            )
        )

    def done(self, member: admission.Member, done: messages.Done) -> None:
        """Record that all of a worker's journal has arrived, and its clock once more."""
        self._left(member, "", done.offset_ns, done.uncertainty_ns)

    def lost(self, member: admission.Member, why: str) -> None:
        """Record that a worker is lost."""
        self._left(member, why, None, 0)

    def refused(self, node: str, hello: messages.Hello, why: str) -> bool:
        """Record that a worker was refused; return False if it was recorded before."""
        if node in self._refused:
            return False
        self._refused.add(node)
        now_ns = clocks.monotonic_ns()
        self._writer.write(
            records.WorkerRefused(host=hello.host, pid=hello.pid, reason=why, ts_ns=now_ns)
        )
        return True

    def close(self) -> None:
        """Close the journal."""
        self._writer.close()

    def _left(
        self, member: admission.Member, lost: str, offset_ns: int | None, uncertainty_ns: int
    ) -> None:
        self._writer.write(
            records.WorkerLeft(
                process=member.process,
                host=member.hello.host,
                lost=lost,
                offset_ns=offset_ns,
                uncertainty_ns=uncertainty_ns,
                ts_ns=clocks.monotonic_ns(),
            )
        )
