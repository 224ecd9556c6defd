"""The tracer: starts a program, holds its threads as it is told, and ends as the program ends.

Its command line is SOCKET TRY PROGRAM [ARGUMENT…]; TRY is a command, or empty. Output and signals
are the program's: SIGTERM and SIGINT are passed on, and the exit code or signal of the program
becomes its own. If the tracer is killed, the kernel kills the program.
"""

import contextlib
import os
import pathlib
import resource
import select
import signal
import socket
import sys
from collections.abc import Iterator, Sequence

from harness import errors
from harness.model import thread_places
from harness.threads import hold_rules, messages, ptracing, traced_program

_PIECE = 1 << 16
_RETRY_S = 0.1
"""Seconds until what the run did not take is sent again."""
_AT_ONCE = 50
"""Things that happen in the program before commands and signals are looked at again."""


_PROCESSORS = {"GOMAXPROCS": "16"}
_NO_COLLECTOR = {"GOGC": "off", "GOMEMLIMIT": "2GiB"}
"""Unless the user says otherwise: a held thread keeps one of Go's processors, however few cores
there are; and Go's collector stops all threads, and would wait long for one that a script holds."""


class Tracer:
    """One program, and the run that commands it."""

    def __init__(self, listener: socket.socket, argv: list[str], *, commanded: bool) -> None:
        """`commanded`: a script says where threads are held, and for how long."""
        self._listener, self._commanded = listener, commanded
        self._run: socket.socket | None = None
        self._lines, self._told = messages.Lines(), bytearray()
        self._rules = hold_rules.HoldRules(self._tell)
        self._woken, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        self._signals: list[int] = []
        collector = _NO_COLLECTOR if commanded else {}
        environment = {**_PROCESSORS, **collector, **os.environ}
        self._program = traced_program.TracedProgram(
            argv, environment, decide=self._rules.decide, wants_return=self._rules.wants_return
        )
        self._entries: dict[str, set[int]] = {}
        """Name of a function -> entries at which threads stop."""

    def run(self) -> int:
        """Let the program run to its end; return its wait status."""
        self._program.start()
        poll = select.poll()
        poll.register(self._woken, select.POLLIN)
        poll.register(self._listener, select.POLLIN)
        while True:
            is_calm = self._handle_some()
            if (status := self._program.exit_status) is not None:
                return status
            self._send()
            for descriptor, _ in poll.poll(self._wait_s() * 1000 if is_calm else 0):
                self._arrived(descriptor, poll)
            self._end_holds()
            self._come_back()
            self._pass_signals()

    def _handle_some(self) -> bool:
        """Handle what has happened in the program; return False if there may be more.

        Where all threads stop all the time, there always is.
        """
        for _ in range(_AT_ONCE):
            if self._program.exit_status is not None or not self._program.handle():
                return True
            self._end_holds()
        return False

    def _wait_s(self) -> float:
        return min(self._rules.next_s(), _RETRY_S if self._told else 1.0)

    def _on_signal(self, number: int, frame: object) -> None:
        del frame
        if number != signal.SIGCHLD:
            self._signals.append(number)

    def _pass_signals(self) -> None:
        while self._signals:
            self._leave_all()
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._program.pid, self._signals.pop())

    def _leave_all(self) -> None:
        self._entries.clear()
        self._program.leave_all()

    def _arrived(self, descriptor: int, poll: select.poll) -> None:
        if descriptor == self._woken:
            os.read(self._woken, _PIECE)
        elif descriptor == self._listener.fileno():
            poll.unregister(self._listener)
            self._run = accepted(self._listener)
            self._send()
            poll.register(self._run, select.POLLIN)
        elif self._run is not None:
            data = b""
            with contextlib.suppress(ConnectionResetError):  # it had not read everything
                data = self._run.recv(_PIECE)
            if not data:  # the run has closed the connection
                poll.unregister(self._run)
                self._run = None
                self._leave_all()
            for line in self._lines.of(data):
                self.do(messages.command(line))

    def _end_holds(self) -> None:
        for thread in self._rules.over():
            self._program.release(thread)
        for function in self._rules.busy:
            for entry in self._entries[function]:
                self._program.leave(entry)
        self._rules.busy.clear()

    def _come_back(self) -> None:
        """Let threads stop again at functions that were left because they are busy."""
        if self._rules.has_rested():
            for entries in self._entries.values():
                for entry in entries:
                    self._program.stop_at(entry)

    def do(self, command: messages.Command) -> None:
        try:
            match command:
                case messages.Watch():
                    pattern = thread_places.parse(command.place).function
                    self._stop_at(self._program.functions.matching(pattern))
                case messages.Try(functions=None):
                    self._stop_at(self._program.functions.of_interest())
                case messages.Try():
                    for pattern in command.functions or ():
                        self._stop_at(self._program.functions.matching(pattern))
            for thread in self._rules.obey(command):
                self._program.release(thread)
        except (errors.UsageError, ValueError) as error:
            self._rules.refuse(command, str(error))

    def _stop_at(self, functions: Sequence[tuple[str, int]]) -> None:
        for name, entry in functions:
            self._entries.setdefault(name, set()).add(entry)
            self._program.stop_at(entry)

    def _tell(self, happened: messages.Happened) -> None:
        if self._commanded:
            self._told += messages.encoded(happened)

    def _send(self) -> None:
        """Send what the run takes at once: a run that does not read must not hold the program."""
        if self._run is None or not self._told:
            return
        try:
            del self._told[: self._run.send(self._told, socket.MSG_DONTWAIT)]
        except BlockingIOError:
            return
        except OSError:
            self._told.clear()


def main(argv: list[str]) -> int:
    """Trace the program of a command line; return its exit code, or die by its signal."""
    path = pathlib.Path(argv[0])
    try:
        ptracing.require_possible()
        with listening(path) as listener:
            tracer = Tracer(listener, argv[2:], commanded=not argv[1])
            if argv[1]:
                tracer.do(messages.command(argv[1].encode()))
            status = tracer.run()
    except (errors.HarnessError, OSError) as error:
        print(f"flake-hunt: {error}", file=sys.stderr, flush=True)  # noqa: T201 - its log
        return 2
    if os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with contextlib.suppress(OSError):  # SIGKILL
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    return os.waitstatus_to_exitcode(status)


@contextlib.contextmanager
def listening(path: pathlib.Path) -> Iterator[socket.socket]:
    """Listen at a socket that only this user can use, however long the name of its folder is."""
    folder = os.open(path.parent, os.O_PATH | os.O_CLOEXEC)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            before = os.umask(0o077)
            listener.bind(f"/proc/self/fd/{folder}/{path.name}")
            os.umask(before)
            listener.listen(1)
            try:
                yield listener
            finally:
                path.unlink(missing_ok=True)
    finally:
        os.close(folder)


def accepted(listener: socket.socket) -> socket.socket:
    """Return the connection of the one run that commands; the socket is removed then.

    So it is not left if this process is killed.
    """
    connection, _ = listener.accept()
    pathlib.Path(listener.getsockname()).unlink(missing_ok=True)
    return connection


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
