"""Child processes: starting, stopping, and their exit reports.

Every process that the harness starts leads its own process group, writes to a log file, and is
killed when its parent dies (by SIGKILL, too), so that none is left behind.
"""

import atexit
import concurrent.futures
import contextlib
import functools
import os
import pathlib
import resource
import select
import signal
import subprocess
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import BinaryIO, TypeVar, Union

from harness import bound_processes, clocks, errors, prepared_processes

Condition = Callable[[], object]
Child = Union["subprocess.Popen[bytes]", prepared_processes.Fork]
LOG_LINES_SHOWN = 12
_KILL_TIMEOUT_S = 5.0
_PAUSE_TIMEOUT_S = 10.0
_LOOK_S = 0.001
_T = TypeVar("_T")
_templates: list[prepared_processes.Template] = []
"""The template of this process, once `prepare` has started it."""


class Process:
    """A started process and its group."""

    def __init__(self, name: str, child: Child, log: pathlib.Path) -> None:
        self.name = name
        self.log = log
        self._child = child

    @property
    def pid(self) -> int:
        return self._child.pid

    def poll(self) -> int | None:
        """Return the exit code (negative: the signal), None while the process runs."""
        return self._child.poll()

    def wait(self, *, timeout_s: float) -> int | None:
        """Wait for the exit code; return None if the process still runs after the timeout."""
        try:
            return self._child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def stop(self, *, timeout_s: float) -> int:
        """Send SIGTERM, kill the group after the timeout, and return the exit code.

        A paused process is continued, so that it can end in an orderly way.
        """
        if self.poll() is None:
            self.resume()
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)
            self.wait(timeout_s=timeout_s)
        return self.kill()

    def kill(self) -> int:
        self._signal_group(signal.SIGKILL)
        return self._child.wait(_KILL_TIMEOUT_S)

    def end(self, *, kill: bool, timeout_s: float) -> None:
        if kill:
            self.kill()
        else:
            self.stop(timeout_s=timeout_s)

    def pause(self) -> bool:
        """Stop the group (SIGSTOP) until `resume`; return False if the process has ended.

        The process does nothing any more when this returns.
        """
        self._signal_group(signal.SIGSTOP)
        clocks.wait_until(
            lambda: self.poll() is not None or _are_threads_stopped(self.pid),
            timeout_s=_PAUSE_TIMEOUT_S,
            why=f"{self.name} to stop",
            interval_s=_LOOK_S,
        )
        return self.poll() is None

    def resume(self) -> None:
        """Continue a paused group (SIGCONT); does nothing to a running one."""
        self._signal_group(signal.SIGCONT)

    def exit_report(self) -> str | None:
        exit_code = self.poll()
        if exit_code is None:
            return None
        return f"{self.name} ended with {how_ended(exit_code)}: see {self.log}"

    def log_tail(self) -> str:
        try:
            lines = self.log.read_text(errors="replace").splitlines()
        except OSError:
            return "(no log)"
        return "\n".join(lines[-LOG_LINES_SHOWN:]) or "(it printed nothing)"

    def _signal_group(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)


def _are_threads_stopped(pid: int) -> bool:
    with contextlib.suppress(OSError):  # it, or a thread, has just ended
        tasks = pathlib.Path(f"/proc/{pid}/task").glob("*/stat")
        return all(path.read_text().rpartition(") ")[2].startswith("T") for path in tasks)
    return False


def how_ended(exit_code: int) -> str:
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
    """Start a process; its output is appended to the log.

    `folder` is its working directory (None: that of this process); `env` adds to the environment;
    `with_parent`: it is killed when this process dies. Raises ProcessError if it cannot be started.
    """
    try:
        with log.open("ab") as output, _holding_interrupts() as interrupts:
            environment = {**os.environ, **(env or {})}
            child = _started(argv, output, environment, folder, with_parent=with_parent)
    except OSError as error:
        raise errors.ProcessError(f"expected to start {name} ({argv[0]}): {error}") from error
    process = Process(name, child, log)
    if interrupts:
        process.kill()  # the caller will not get it
        signal.raise_signal(interrupts[0])
    return process


def allow_files() -> None:
    """Use as many open files as are allowed: each watch, and each socket of a node, needs some."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def prepare() -> None:
    """From now on fork the commands of Flake Hunt from a template that has imported them.

    It has the environment of now. Does nothing if there is a template, or none can be had.
    """
    if _templates or not prepared_processes.IS_SUPPORTED:
        return
    with contextlib.suppress(OSError), _holding_interrupts() as interrupts:
        template = _on_lasting_thread(prepared_processes.Template)
        atexit.register(template.close)
        _templates.append(template)
    if interrupts:
        signal.raise_signal(interrupts[0])


def _started(
    argv: Sequence[str],
    output: BinaryIO,
    environment: Mapping[str, str],
    folder: pathlib.Path | None,
    *,
    with_parent: bool,
) -> Child:
    """Have the template fork a process, if it can; start it otherwise."""
    if with_parent and _templates and [*argv[: len(command())]] == command():
        fork = _templates[0].fork
        if child := fork(argv, output=output.fileno(), environment=environment, folder=folder):
            return child
    popen = bound_processes.popen if with_parent else subprocess.Popen
    return _on_lasting_thread(
        lambda: popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
    )


def _on_lasting_thread(start: Callable[[], _T]) -> _T:
    """Start a child on a thread that ends with this process.

    For the kernel the parent in PR_SET_PDEATHSIG is the thread that starts the child: if that
    thread ended earlier, the child would be killed then.
    """
    if threading.current_thread() is threading.main_thread():
        return start()
    return _starter().submit(start).result()


@functools.cache
def _starter() -> concurrent.futures.ThreadPoolExecutor:
    return concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="process-starter")


@contextlib.contextmanager
def _holding_interrupts() -> Iterator[list[int]]:
    """Collect SIGINT and SIGTERM instead of raising: the process that is started would be lost."""
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
    """Start a Flake Hunt process and wait until its ready file exists; see `start_until`."""
    words = [*argv, *changed(ready_file=ready)]
    return start_until(
        name, words, ready.exists, log=log, timeout_s=timeout_s, with_parent=with_parent
    )


def start_until(
    name: str,
    argv: Sequence[str],
    is_ready: Callable[[], bool],
    *,
    log: pathlib.Path,
    timeout_s: float,
    with_parent: bool = True,
) -> Process:
    """Start a process and wait until it is ready.

    Raises ProcessError, with the end of its log, if it ends before that, and WaitTimeoutError after
    the timeout; the process is killed then.
    """
    process = start(name, argv, log=log, with_parent=with_parent)

    def came_up() -> bool:
        exit_code = process.poll()
        if is_ready():
            return True
        if exit_code is not None:
            raise errors.ProcessError(
                f"expected {name} to start, but it ended with {how_ended(exit_code)}. "
                f"The end of {log}:\n{process.log_tail()}"
            )
        return False

    try:
        clocks.wait_until(came_up, timeout_s=timeout_s, why=f"{name} to be ready")
    except BaseException:  # an interruption too: the caller will not get the process
        process.kill()
        raise
    return process


def command(*arguments: str) -> list[str]:
    return [*python("harness.cli.main"), *arguments]


def changed(**settings: object) -> list[str]:
    return [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]


def python(module: str) -> list[str]:
    """Return the command line of a module with the same Python, which looks for none in the
    current folder.
    """
    return [*prepared_processes.PYTHON, "-m", module]


class StopEvent:
    """Is set by SIGTERM and SIGINT; to be created and waited for in the main thread.

    Python runs signal handlers in the main thread, but the kernel may deliver a signal to another
    thread (to a process that was stopped, for example), which does not wake a main thread that
    waits for a lock. A pipe does.
    """

    def __init__(self) -> None:
        self._is_set = False
        self._woken, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)

    def is_set(self) -> bool:
        return self._is_set

    def wait(self, timeout_s: float | None = None) -> bool:
        deadline = None if timeout_s is None else clocks.monotonic_ns() + int(timeout_s * 1e9)
        poll = select.poll()
        poll.register(self._woken, select.POLLIN)
        while not self._is_set:
            left_s = None if deadline is None else (deadline - clocks.monotonic_ns()) / 1e9
            if left_s is not None and left_s <= 0:
                return False
            if poll.poll(None if left_s is None else left_s * 1000):
                os.read(self._woken, 4096)
        return True

    def _on_signal(self, number: int, frame: object) -> None:
        del number, frame
        self._is_set = True


def end_on_thread_failure(program: str) -> None:
    """From now on end this process with exit code 1 and one line when a thread raises.

    A process that has lost a thread would look alive and do nothing. Nothing is cleaned up: the
    other threads may be in the middle of anything.
    """

    def end(failure: threading.ExceptHookArgs) -> None:
        name = failure.thread.name if failure.thread is not None else "unknown"
        frames = traceback.extract_tb(failure.exc_traceback)
        place = f" ({pathlib.Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
        what = " ".join(f"{failure.exc_type.__name__}: {failure.exc_value}".split())
        os.write(2, f"{program}: thread {name} failed: {what}{place}\n".encode())
        os._exit(1)

    threading.excepthook = end


def touch_ready(path: pathlib.Path) -> None:
    """Create the ready file, by which the parent knows that this process is ready."""
    path.touch()
