"""Processes of clusters on this machine, which are ended, paused, and started again."""

import dataclasses
import threading
from collections.abc import Callable, Sequence

from harness import clocks, errors, processes
from harness.cluster import loopback_ports

STOP_TIMEOUT_S = 15.0


@dataclasses.dataclass(frozen=True, slots=True)
class End:
    """When an API server ended, by the monotonic clock."""

    alive_ns: int
    """The last moment at which it surely lived: it takes time to end it."""
    dead_ns: int
    """The first moment at which it surely had ended."""


class Component:
    """A process that can be started again."""

    def __init__(self, name: str, start: Callable[[], processes.Process]) -> None:
        """Start it; `start` returns when it is ready."""
        self.name, self._start = name, start
        self._is_restarting = False
        self._stopping = threading.Event()
        self._guard = threading.RLock()
        self.process = start()

    @property
    def pid(self) -> int:
        """The pid; during a restart that of the ended process."""
        return self.process.pid

    def exit_report(self) -> str | None:
        """Return how the process ended; None while it runs or is being restarted."""
        process = self.process
        report = process.exit_report()
        return None if self._is_restarting or process is not self.process else report

    def restart(self, *, kill: bool, down_s: float, ports: Sequence[int]) -> End:
        """End the process (`kill`: by SIGKILL) and start it again after `down_s` seconds.

        Its ports are kept meanwhile. Returns, once it is ready, when it ended. Raises ClusterError
        if it does not come back.
        """
        with self._guard:  # a second restart waits for the first
            alive_ns = clocks.monotonic_ns()
            self.end(kill=kill)
            dead_ns = clocks.monotonic_ns()
            try:
                with loopback_ports.kept(ports):
                    self._stopping.wait(down_s)
                    self.start_again()
            finally:
                self._is_restarting = False
        return End(alive_ns, dead_ns)

    def end(self, *, kill: bool) -> None:
        """End the process, by SIGKILL or SIGTERM, until `start_again`."""
        with self._guard:
            self._is_restarting = True
            self.process.end(kill=kill, timeout_s=STOP_TIMEOUT_S)

    def start_again(self) -> None:
        """Start the process after `end`, and wait until it is ready, unless it was stopped.

        Raises ClusterError if it does not come back.
        """
        with self._guard:
            try:
                if not self._stopping.is_set():
                    self.process = self._start()
            except errors.HarnessError as error:
                raise errors.ClusterError(
                    f"expected {self.name} to start again on its data ({error})"
                ) from error
            finally:
                self._is_restarting = False

    def pause(self) -> None:
        self.process.pause()

    def resume(self) -> None:
        self.process.resume()

    def stop(self) -> None:
        """Stop the process; a restart that waits is ended first."""
        self._stopping.set()
        with self._guard:
            self.process.stop(timeout_s=STOP_TIMEOUT_S)
