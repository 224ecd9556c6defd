"""Starts and stops the processes of a run, and journals how each of them ended.

Faults end and pause processes through it too, from the thread that injects them.
"""

import dataclasses
import pathlib
import signal
import threading
from collections.abc import Callable, Mapping, Sequence

from harness import clocks, errors, processes, writing
from harness.history import directories, journal_writer, last_words, records
from harness.model import naming
from harness.subject.process import elected_runs


@dataclasses.dataclass(slots=True)
class Child:
    """A process that a run has started."""

    name: str
    process: processes.Process
    foreign: bool
    """It is not one of Flake Hunt's programs."""
    finite: bool
    elected: bool
    """It is a scheduler with leader election."""
    ended: bool = False
    fault: str = ""
    paused: bool = False

    def has_lost_lease(self, exit_code: int) -> bool:
        if not self.elected or exit_code != elected_runs.LOST_LEASE_CODE:
            return False
        return elected_runs.LOST_LEASE in self.process.log_tail().lower()


READY_TIMEOUT_S = 30.0
SETTLE_S = 0.5
"""Seconds in which a program that rejects its arguments or configuration has ended."""
STOP_TIMEOUT_S = 15.0
"""Seconds for a process to end before it is killed."""
CLUSTER_LOOK_S = 1.0
"""Seconds between two checks of the cluster; one check may be a call of a container engine."""
ExitReport = Callable[[], str | None]
"""Returns a description of the cluster components that have ended; None while all run."""


class Supervisor:
    """The processes of one run, and the journal of their starts and ends."""

    def __init__(
        self, directory: directories.RunDirectory, *, run_id: str, cluster: ExitReport
    ) -> None:
        self._directory = directory
        self._cluster, self._cluster_look_ns = cluster, 0
        self._writer = journal_writer.Writer(directory.processes, process="run", run_id=run_id)
        self._writing = threading.Lock()
        self.failure: errors.HarnessError | None = None
        """The error that keeps the journal from being written; None: it can be written.

        It ends the run, but the processes are still stopped in order.
        """
        self._children: dict[str, Child] = {}
        self._guard = threading.RLock()
        self.crashed = ""
        """Name of the first process that died with an exit code of its own, not by a signal."""
        self._death: errors.HarnessError | None = None
        """The error of the first process that died: every thread that waits raises it."""
        self.on_lease_lost: Callable[[str], object] = lambda _: None
        """Called with the name under which a scheduler was started first, when it has ended
        because it lost its lease."""

    def phase(self, name: str, *, detail: str = "") -> None:
        self.note(records.Phase(name=name, detail=detail, ts_ns=clocks.monotonic_ns()))

    def note(self, record: records.Body) -> None:
        self._try(lambda: self._writer.write(record))

    def close(self) -> None:
        self._try(self._writer.close)

    def _try(self, write: Callable[[], None]) -> None:
        with self._writing:
            if self.failure is not None:
                return
            try:
                write()
            except OSError as error:
                self.failure = writing.explain(error)

    def start(
        self,
        name: str,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        foreign: bool = False,
        finite: bool = False,
        elected: bool = False,
    ) -> processes.Process:
        """Start a process of the run; its output goes to `logs/<name>.log`.

        A `foreign` process runs in the user's folder, and its exit code after a stop does not
        matter. A `finite` process ends by itself, with exit code 0 when its work is done. An
        `elected` one is a scheduler with leader election: it may lose its lease and end.
        """
        # Relative paths of a foreign command refer to the user's working directory (None).
        folder = None if foreign else self._directory.logs
        with self._guard:
            process = processes.start(
                name, list(argv), log=self._directory.log(name), env=env, folder=folder
            )
            self._children[name] = Child(name, process, foreign, finite, elected)
            self.note(
                records.ProcessStarted(
                    process=name, pid=process.pid, argv=list(argv), ts_ns=clocks.monotonic_ns()
                )
            )
        return process

    def start_part(self, name: str, *arguments: str | pathlib.Path, elected: bool = False) -> None:
        """Start a `flake-hunt part`, which reports when it is ready (see `wait_ready`)."""
        argv = ["part", *map(str, arguments), *processes.changed(ready_file=self._ready_file(name))]
        self.start(name, processes.command(*argv), elected=elected)

    def wait_ready(self, *names: str) -> None:
        """Wait until these parts are ready, except those that a fault has ended meanwhile."""
        for name in names:
            child, ready = self._children[name], self._ready_file(name)
            self.wait_until(
                lambda child=child, ready=ready: child.fault or ready.exists(),  # type: ignore[misc]
                timeout_s=READY_TIMEOUT_S,
                why=f"{name} to be ready",
            )
            ready.unlink(missing_ok=True)

    def start_foreign(
        self,
        name: str,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        elected: bool = False,
        program: str = "",
    ) -> None:
        """Start a program that does not report; `program` is its name, if not argv's first."""
        process = self.start(name, argv, env=env, foreign=True, elected=elected)
        exit_code = process.wait(timeout_s=SETTLE_S)
        if exit_code is None:
            return
        self._died(self._children[name], exit_code)
        said = last_words.of_log(process.log, or_last_line=False)
        raise errors.SubjectError(
            f"expected {name} to run, but `{program or argv[0]}` ended at once "
            f"({processes.how_ended(exit_code)}): correct the subject's command"
            f"{f' ({said})' if said else ''}. The end of {process.log}:\n{process.log_tail()}"
        )

    def _ready_file(self, name: str) -> pathlib.Path:
        return self._directory.logs.resolve() / f"{name}.ready"

    def wait_until(self, condition: processes.Condition, *, timeout_s: float, why: str) -> None:
        """Wait for a condition while all processes and the cluster are alive.

        Raises ProcessError or ClusterError if one has died, WaitTimeoutError after `timeout_s`, and
        `failure` if the journal cannot be written.
        """

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
        """Raise ClusterError if the cluster has died; checks at most once per CLUSTER_LOOK_S."""
        now_ns = clocks.monotonic_ns()
        if now_ns - self._cluster_look_ns < CLUSTER_LOOK_S * 1e9:
            return
        self._cluster_look_ns = now_ns
        require_living(self._cluster)

    def require_alive(self) -> None:
        """Raise an error if a process has ended unexpectedly.

        It is ClusterError if the cluster has died, which may be the cause, and ProcessError
        otherwise. A finite process may end with exit code 0. A scheduler that has lost its lease
        is reported to `on_lease_lost`.
        """
        with self._guard:
            lost: list[str] = []
            for child in self._children.values():
                exit_code = None if child.ended else child.process.poll()
                if exit_code is None or (child.finite and exit_code == 0):
                    continue
                if child.has_lost_lease(exit_code):
                    self._ended(child, exit_code, expected=True)
                    lost.append(child.name)
                else:
                    self._died(child, exit_code)
        if self._death is not None:
            require_living(self._cluster)  # the process may have ended because of it
            raise self._death
        for name in lost:
            self.on_lease_lost(naming.first_incarnation(name))

    def finished(self, name: str) -> bool:
        """Return whether a finite process has ended; another exit code than 0 is unexpected."""
        child = self._children[name]
        exit_code = child.process.poll()
        if exit_code is None:
            return False
        if not child.ended:
            self._ended(child, exit_code, expected=exit_code == 0)
        return True

    def stop(self, name: str, *, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Stop a process and wait for its end; an earlier death is journaled as unexpected."""
        child = self._children.get(name)
        if child is None or child.ended:
            return
        died = child.process.poll()
        exit_code = child.process.stop(timeout_s=timeout_s) if died is None else died
        in_order = exit_code == 0 or child.foreign
        in_time = died is None or child.finite
        is_expected = (in_time and in_order) or child.has_lost_lease(exit_code)
        self._ended(child, exit_code, expected=is_expected)

    def stop_all(self, order: Sequence[str]) -> None:
        rank = {name: index for index, name in enumerate(order)}
        for name in sorted(
            self._children, key=lambda name: rank.get(naming.first_incarnation(name), len(rank))
        ):
            self.stop(name)

    def kill_all(self) -> None:
        for child in self._children.values():
            if not child.ended:
                child.process.kill()
                self._ended(child, child.process.poll() or 0, expected=False)

    # ---------------------------------------------------------------------- faults

    def incarnations(self, name: str) -> list[str]:
        with self._guard:
            return [child for child in self._children if naming.first_incarnation(child) == name]

    def living(self, name: str) -> str | None:
        with self._guard:
            running = [item for item in self.incarnations(name) if self.is_living(item)]
        return running[-1] if running else None

    def pids(self) -> dict[str, list[int]]:
        with self._guard:
            return {
                name: [child.process.pid]
                for name, child in self._children.items()
                if self.is_living(name)
            }

    def with_pid(self, pid: int) -> str | None:
        with self._guard:
            names = [name for name, child in self._children.items() if child.process.pid == pid]
            return names[0] if names and self.is_living(names[0]) else None

    def kill(self, name: str, *, fault: str) -> bool:
        """End a process and its children by SIGKILL; return False if it had ended before."""
        return self._end(name, fault, is_killed=True)

    def terminate(self, name: str, *, fault: str) -> bool:
        """End a process by SIGTERM, in time; return False if it had ended before."""
        return self._end(name, fault, is_killed=False)

    def _end(self, name: str, fault: str, *, is_killed: bool) -> bool:
        with self._guard:
            if not self.is_living(name):
                return False
            child = self._children[name]
            child.fault, process = fault, child.process
            exit_code = process.kill() if is_killed else process.stop(timeout_s=STOP_TIMEOUT_S)
            was_killed = exit_code == -signal.SIGKILL
            in_order = exit_code == 0 or (child.foreign and not was_killed)  # kube-scheduler: 1
            self._ended(child, exit_code, expected=was_killed if is_killed else in_order)
        return True

    def pause(self, name: str, *, fault: str) -> bool:
        with self._guard:
            child = self._children[name]
            if not self.is_living(name) or not child.process.pause():
                return False
            child.paused = True
            pid, now_ns = child.process.pid, clocks.monotonic_ns()
            self.note(records.ProcessPaused(process=name, pid=pid, fault=fault, ts_ns=now_ns))
        return True

    def resume(self, name: str) -> None:
        with self._guard:
            child = self._children[name]
            if child.ended or not child.paused:
                return
            child.paused = False
            pid, now_ns = child.process.pid, clocks.monotonic_ns()
            self.note(records.ProcessResumed(process=name, pid=pid, ts_ns=now_ns))
            child.process.resume()

    def is_living(self, name: str) -> bool:
        child = self._children.get(name)
        return child is not None and not child.ended and child.process.poll() is None

    def _died(self, child: Child, exit_code: int) -> None:
        self._ended(child, exit_code, expected=False)
        if self._death is None and exit_code > 0:
            self.crashed = naming.first_incarnation(child.name)
        self._death = self._death or errors.ProcessError(
            f"expected {child.name} to live until the end of the run, but "
            f"{child.process.exit_report()}"
        )

    def _ended(self, child: Child, exit_code: int, *, expected: bool) -> None:
        child.ended = True
        self.note(
            records.ProcessEnded(
                process=child.name,
                pid=child.process.pid,
                exit_code=exit_code,
                expected=expected,
                fault=child.fault,
                lease_lost=child.has_lost_lease(exit_code),
                ts_ns=clocks.monotonic_ns(),
            )
        )


def require_living(cluster: ExitReport) -> None:
    died = cluster()
    if died is not None:
        raise errors.ClusterError(
            f"expected the cluster to live until the end of the run, but {died}"
        )
