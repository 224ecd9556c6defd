"""Starting, stopping and outliving processes.

Every process that the harness starts leads a group of its own, writes to a log file, and dies with the process that started it
(also after SIGKILL of that one), so that nothing is left behind whatever happens.
"""

import contextlib
import ctypes
import functools
import os
import pathlib
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence

from harness import clocks, errors

Condition = Callable[[], object]
LOG_LINES_SHOWN = 12
_PR_SET_PDEATHSIG = 1
_KILL_TIMEOUT_S = 5.0


class Process:
    """A started process and its group."""

    def __init__(self, name: str, child: "subprocess.Popen[bytes]", log: pathlib.Path) -> None:
        self.name = name
        self.log = log
        self._child = child

    @property
    def pid(self) -> int:
        """Its process id, which is also its group's."""
        return self._child.pid

    def poll(self) -> int | None:
        """Its exit code (negative for a signal), None while it runs."""
        return self._child.poll()

    def wait(self, *, timeout_s: float) -> int | None:
        """Its exit code once it has ended, None when it runs on after the timeout."""
        try:
            return self._child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def stop(self, *, timeout_s: float) -> int:
        """Ask the process to end, kill its group when it does not, and return its exit code."""
        if self.poll() is None:
            self._signal_leader(signal.SIGTERM)
            self.wait(timeout_s=timeout_s)
        return self.kill()

    def kill(self) -> int:
        """Kill whatever is left of the group and return the process's exit code."""
        self._signal_group(signal.SIGKILL)
        return self._child.wait(_KILL_TIMEOUT_S)

    def exit_report(self) -> str | None:
        """How it has ended and where its log is; None while it runs."""
        exit_code = self.poll()
        if exit_code is None:
            return None
        return f"{self.name} ended with {how_ended(exit_code)}: see {self.log}"

    def log_tail(self) -> str:
        """The last lines of its log."""
        try:
            lines = self.log.read_text(errors="replace").splitlines()
        except OSError:
            return "(no log)"
        return "\n".join(lines[-LOG_LINES_SHOWN:]) or "(it printed nothing)"

    def _signal_leader(self, number: signal.Signals) -> None:
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            return

    def _signal_group(self, number: signal.Signals) -> None:
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            return


def how_ended(exit_code: int) -> str:
    """`exit code 1`, `signal 9`."""
    return f"signal {-exit_code}" if exit_code < 0 else f"exit code {exit_code}"


def start(
    name: str,
    argv: Sequence[str],
    *,
    log: pathlib.Path,
    env: Mapping[str, str] | None = None,
    folder: pathlib.Path | None = None,
    with_parent: bool = True,
) -> Process:
    """Start a process in a folder (None: here); its output goes to the log. ProcessError when it cannot be started."""
    try:
        with log.open("ab") as output, _holding_interrupts() as interrupts:
            child = subprocess.Popen(
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env={**os.environ, **(env or {})},
                start_new_session=True,
                preexec_fn=functools.partial(die_with, os.getpid()) if with_parent else None,  # noqa: PLW1509
            )
    except OSError as error:
        raise errors.ProcessError(f"expected to start {name} ({argv[0]}): {error}") from error
    process = Process(name, child, log)
    if interrupts:
        process.kill()  # nobody else knows of it yet
        signal.raise_signal(interrupts[0])
    return process


@contextlib.contextmanager
def _holding_interrupts() -> Iterator[list[int]]:
    """Collect interruptions instead of raising them: raised in a hook that Python runs around a fork, they would be printed and lost."""
    held: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield held
        return
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    raising = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in raising:
        signal.signal(number, lambda number, _: held.append(number))
    try:
        yield held
    finally:
        for number, handler in raising.items():
            signal.signal(number, handler)


def start_ready(
    name: str,
    argv: Sequence[str],
    *,
    log: pathlib.Path,
    ready: pathlib.Path,
    timeout_s: float,
    with_parent: bool = True,
) -> Process:
    """Start a part of Flake Hunt and wait until its ready file is there; ProcessError with its last words when it ends first."""
    process = start(name, [*argv, "--ready-file", str(ready)], log=log, with_parent=with_parent)

    def is_ready() -> bool:
        exit_code = process.poll()
        if exit_code is not None and not ready.exists():
            raise errors.ProcessError(
                f"expected {name} to start, but it ended with {how_ended(exit_code)}. "
                f"The end of {log}:\n{process.log_tail()}"
            )
        return ready.exists()

    try:
        clocks.wait_until(is_ready, timeout_s=timeout_s, why=f"{name} to be ready")
    except BaseException:  # an interruption too: nobody else knows of it yet
        process.kill()
        raise
    return process


def command(*arguments: str) -> list[str]:
    """The command line of a part of Flake Hunt itself."""
    return [sys.executable, "-m", "harness.cli.main", *arguments]


def die_with(parent: int) -> None:
    """Have the kernel kill this process when the one that started it, this pid, dies (Linux; elsewhere nothing)."""
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    except (OSError, AttributeError):
        return
    if os.getppid() != parent:  # it died before the kernel was told
        os.kill(os.getpid(), signal.SIGKILL)


def stop_event() -> threading.Event:
    """An event that SIGTERM and SIGINT set; for the main thread of a stand-alone part."""
    stopped = threading.Event()

    def on_signal(number: int, frame: object) -> None:
        del number, frame
        stopped.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)
    return stopped


def touch_ready(path: pathlib.Path) -> None:
    """Say that this process is ready."""
    path.touch()
