"""The components of a local control plane: processes that are started until they are ready."""

import pathlib
import threading
from collections.abc import Callable, Sequence

from harness import clocks, errors, processes
from harness.cluster import interfaces, loopback_ports

READY_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 15.0
TRIES = 3
"""Attempts to start: a port that was free may be taken a moment later.

Each attempt starts all processes again with other ports.
"""
_TAKEN = "address already in use"


class PortTakenError(errors.ClusterError):
    """Another program took a port after it was chosen and before it was used."""


class Component:
    """A process that can be started, stopped and started again."""

    def __init__(
        self,
        name: str,
        argv: Sequence[str],
        *,
        folder: pathlib.Path,
        is_ready: Callable[[], bool],
        with_parent: bool,
    ) -> None:
        """`folder` gets the log; `with_parent`: the process is killed when this process dies."""
        self.name, self._argv, self._is_ready = name, argv, is_ready
        self._log, self._with_parent = folder / f"{name}.log", with_parent
        self._process: processes.Process | None = None
        self._restarting = False
        self._stopping = threading.Event()
        self._guard = threading.Lock()

    @property
    def pid(self) -> int:
        """The pid; during a restart that of the ended process."""
        return self._started().pid

    def start(self) -> None:
        """Start the process and wait until it is ready; its log begins empty.

        Raises ClusterError, or PortTakenError if that is why it ended.
        """
        self._log.unlink(missing_ok=True)  # left by an attempt whose port was taken
        self._start()

    def exit_report(self) -> str | None:
        """Return how the process ended; None while it runs or is being restarted."""
        process = self._started()
        report = process.exit_report()
        return None if self._restarting or process is not self._process else report

    def restart(self, *, kill: bool, down_s: float, port: int) -> interfaces.End:
        """End the process (`kill`: by SIGKILL) and start it again after `down_s` seconds.

        Its port is kept meanwhile. Returns, once it is ready, when it ended. Raises ClusterError
        if it is not ready in time.
        """
        end = interfaces.End.of(lambda: self.end(kill=kill))
        with loopback_ports.kept([port]):
            self._stopping.wait(down_s)
            self.start_again()
        return end

    def end(self, *, kill: bool) -> None:
        """End the process, by SIGKILL or SIGTERM, until `start_again`."""
        with self._guard:
            self._restarting = True
            self._started().end(kill=kill, timeout_s=STOP_TIMEOUT_S)

    def start_again(self) -> None:
        """Start the process after `end`, and wait until it is ready, unless it was stopped.

        Raises ClusterError if it is not ready in time.
        """
        with self._guard:
            try:
                if not self._stopping.is_set():
                    self._start()
            finally:
                self._restarting = False

    def pause(self) -> None:
        self._started().pause()

    def resume(self) -> None:
        self._started().resume()

    def stop(self) -> None:
        """Stop the process; a restart that waits is ended first."""
        self._stopping.set()
        with self._guard:
            self._started().stop(timeout_s=STOP_TIMEOUT_S)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()

    def _started(self) -> processes.Process:
        if self._process is None:
            raise AssertionError(f"{self.name} was not started")
        return self._process

    def _start(self) -> None:
        process = self._process = processes.start(
            self.name, self._argv, log=self._log, with_parent=self._with_parent
        )

        def came_up() -> bool:
            exit_code = process.poll()
            if exit_code is not None:
                raise _ended(process, exit_code)
            return self._is_ready() or self._stopping.is_set()

        try:
            clocks.wait_until(came_up, timeout_s=READY_TIMEOUT_S, why=f"{self.name} to be ready")
        except errors.WaitTimeoutError as error:
            raise errors.ClusterError(
                f"expected {self.name} to be ready within {READY_TIMEOUT_S:g} s. "
                f"The end of {self._log}:\n{process.log_tail()}"
            ) from error


def _ended(process: processes.Process, exit_code: int) -> errors.ClusterError:
    words = process.log_tail()
    if _TAKEN in words:
        return PortTakenError(
            f"expected a free port for {process.name}, but another program took it {TRIES} times: try "
            f"again. The end of {process.log}:\n{words}"
        )
    return errors.ClusterError(
        f"expected {process.name} to start, but it ended with {processes.how_ended(exit_code)}. "
        f"The end of {process.log}:\n{words}"
    )
