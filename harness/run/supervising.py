"""Starts and stops the processes of a run, and journals how each of them ended."""

import contextlib
import dataclasses
import pathlib
from collections.abc import Callable, Iterator, Mapping, Sequence

from harness import clocks, errors, processes, writing
from harness.history import directories, journal_writer, records

READY_TIMEOUT_S = 30.0
SETTLE_S = 0.5
"""A program that refuses its arguments or its configuration has ended by then."""
STOP_TIMEOUT_S = 15.0
CLUSTER_LOOK_S = 1.0
"""How often the cluster is looked at; it may be a question to a container engine."""
Obituary = Callable[[], str | None]


@dataclasses.dataclass(slots=True)
class _Child:
    name: str
    process: processes.Process
    foreign: bool
    finite: bool
    ended: bool = False


class Supervisor:
    """The processes of one run and the journal of their starts and ends.

    `cluster` says what has ended of the cluster that they work on, None while it lives.
    """

    def __init__(
        self, directory: directories.RunDirectory, *, run_id: str, cluster: Obituary
    ) -> None:
        self._directory = directory
        self._cluster, self._cluster_look_ns = cluster, 0
        self._journal = journal_writer.Writer(directory.processes, process="run", run_id=run_id)
        self._children: dict[str, _Child] = {}
        self.failure: errors.HarnessError | None = None
        """Why the journal cannot be written any more: that ends the run, but the processes are still stopped in order."""

    def phase(self, name: str, *, detail: str = "") -> None:
        """Journal that the run goes on to its next phase."""
        self._note(records.Phase(name=name, detail=detail, ts_ns=clocks.monotonic_ns()))

    def start(
        self,
        name: str,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        foreign: bool = False,
        finite: bool = False,
    ) -> processes.Process:
        """Start a process of the run; its output goes to logs/<name>.log.

        A `foreign` one runs in the user's folder, and how it ends when it is told to says nothing; a `finite` one ends by itself, with 0 when its work is done.
        """
        folder = (
            None if foreign else self._directory.logs
        )  # None: paths mean what they mean to the user
        process = processes.start(
            name, list(argv), log=self._directory.log(name), env=env, folder=folder
        )
        self._children[name] = _Child(name, process, foreign, finite)
        self._note(
            records.ProcessStarted(
                process=name, pid=process.pid, argv=list(argv), ts_ns=clocks.monotonic_ns()
            )
        )
        return process

    def start_part(self, name: str, *arguments: str | pathlib.Path) -> None:
        """Start a stand-alone part of Flake Hunt; see `wait_ready`."""
        argv = [*map(str, arguments), "--ready-file", str(self._ready_file(name))]
        self.start(name, processes.command(*argv))

    def wait_ready(self, *names: str) -> None:
        """Wait until these parts say that they are ready."""
        for name in names:
            ready = self._ready_file(name)
            self.wait_until(ready.exists, timeout_s=READY_TIMEOUT_S, why=f"{name} to be ready")
            ready.unlink()

    def start_foreign(self, name: str, argv: Sequence[str], *, env: Mapping[str, str]) -> None:
        """Start a program that is not ours and cannot say that it is ready; SubjectError when it ends at once."""
        process = self.start(name, argv, env=env, foreign=True)
        exit_code = process.wait(timeout_s=SETTLE_S)
        if exit_code is None:
            return
        self._ended(self._children[name], exit_code, expected=False)
        raise errors.SubjectError(
            f"expected {name} to run, but `{argv[0]}` ended at once ({processes.how_ended(exit_code)}): correct the "
            f"subject's command. The end of {process.log}:\n{process.log_tail()}"
        )

    def _ready_file(self, name: str) -> pathlib.Path:
        return self._directory.logs.resolve() / f"{name}.ready"

    def wait_until(self, condition: processes.Condition, *, timeout_s: float, why: str) -> None:
        """Wait for a condition while everything is alive; ProcessError or ClusterError when something has died."""

        def came_true() -> bool:
            if condition():
                return True
            if self.failure is not None:
                raise self.failure
            self.require_cluster()
            self.require_alive()
            return False

        clocks.wait_until(came_true, timeout_s=timeout_s, why=why)

    def require_cluster(self) -> None:
        """ClusterError when it has died."""
        now_ns = clocks.monotonic_ns()
        if now_ns - self._cluster_look_ns < CLUSTER_LOOK_S * 1e9:
            return
        self._cluster_look_ns = now_ns
        require_living(self._cluster)

    def require_alive(self) -> None:
        """ProcessError, or the cluster's ClusterError, when a process has ended that nobody had asked to, but for a finite one
        that has done its work.
        """
        for child in self._children.values():
            exit_code = None if child.ended else child.process.poll()
            if exit_code is None or (child.finite and exit_code == 0):
                continue
            self._ended(child, exit_code, expected=False)
            require_living(self._cluster)  # for want of which it may have ended
            raise errors.ProcessError(
                f"expected {child.name} to live until the end of the run, but {child.process.exit_report()}"
            )

    def finished(self, name: str) -> bool:
        """Whether a finite process has ended; a non-zero exit code is journaled as unexpected."""
        child = self._children[name]
        exit_code = child.process.poll()
        if exit_code is None:
            return False
        if not child.ended:
            self._ended(child, exit_code, expected=exit_code == 0)
        return True

    def stop(self, name: str, *, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Ask a process to end and see that it does; one that had died before is journaled as unexpected."""
        child = self._children.get(name)
        if child is None or child.ended:
            return
        died = child.process.poll()
        exit_code = child.process.stop(timeout_s=timeout_s) if died is None else died
        in_order = exit_code == 0 or child.foreign  # kube-scheduler's own is 1
        in_time = died is None or child.finite
        self._ended(child, exit_code, expected=in_time and in_order)

    def stop_all(self, order: Sequence[str]) -> None:
        """Stop every process that is left, in this order, unnamed ones last."""
        for name in [*order, *[name for name in self._children if name not in order]]:
            self.stop(name)

    def kill_all(self) -> None:
        """Leave nothing behind, without asking."""
        for child in self._children.values():
            if not child.ended:
                child.process.kill()
                self._ended(child, child.process.poll() or 0, expected=False)

    def close(self) -> None:
        """End the journal in order, if it could be written to the end."""
        if self.failure is None:
            with self._noting_failure():
                self._journal.close()

    def _note(self, record: records.Body) -> None:
        if self.failure is None:
            with self._noting_failure():
                self._journal.write(record)

    @contextlib.contextmanager
    def _noting_failure(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.failure = writing.explain(error)

    def _ended(self, child: _Child, exit_code: int, *, expected: bool) -> None:
        child.ended = True
        self._note(
            records.ProcessEnded(
                process=child.name,
                pid=child.process.pid,
                exit_code=exit_code,
                expected=expected,
                ts_ns=clocks.monotonic_ns(),
            )
        )


def require_living(cluster: Obituary) -> None:
    """ClusterError when it has died."""
    died = cluster()
    if died is not None:
        raise errors.ClusterError(
            f"expected the cluster to live until the end of the run, but {died}"
        )
