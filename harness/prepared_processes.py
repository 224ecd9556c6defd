"""Processes that are forked from a template, which has imported what they need.

Starting Python and importing the modules of a part takes 0.3 s of processor time; a fork takes
0.02 s. The template is started once, has one thread and only forks. Each fork behaves like a
process that was started: it has its own session, log, environment and command line. It is a child
of the template, which reports its exit code. Forks are killed when the template ends, and the
template is killed when the process that started it ends. Linux only.

Android's zygote and multiprocessing's fork server work alike. The template's program is
`harness.cli.template`.
"""

import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence

from harness import bound_processes, errors

IS_SUPPORTED = sys.platform == "linux"
PYTHON = (sys.executable, "-P")
"""How the command line of each Python process of ours begins: with `-P`, no module is imported from
the current folder, which may have a `queue.py` or a `harness` of its own."""
PROGRAM = (*PYTHON, "-m", "harness.cli.template")
ROOM = "-" * 8192
"""Last argument of the template: the forks write their command lines over it."""
REQUEST_BYTES_MAX = 1 << 17
_ANSWER_TIMEOUT_S = 60.0
_ANSWER_BYTES_MAX = 16


class Fork:
    """A process that was forked from a template; does what `subprocess.Popen` does for others."""

    def __init__(self, pid: int, ends: int) -> None:
        """`ends`: the pipe that gives the exit code; it is closed with this object."""
        self.pid = pid
        self._ends = ends
        weakref.finalize(self, os.close, ends)
        self._exit_code: int | None = None
        self._guard = threading.Lock()

    def poll(self) -> int | None:
        """Return the exit code (negative: the signal), None while the process runs."""
        with self._guard:
            if self._exit_code is None and self._is_readable(0):
                # The template has ended, too: its forks were killed with it.
                self._exit_code = int(os.read(self._ends, _ANSWER_BYTES_MAX) or -signal.SIGKILL)
            return self._exit_code

    def wait(self, timeout: float) -> int:
        """Wait for the exit code. Raises subprocess.TimeoutExpired after `timeout` seconds."""
        self._is_readable(timeout)
        exit_code = self.poll()
        if exit_code is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout)
        return exit_code

    def _is_readable(self, timeout_s: float) -> bool:
        poll = select.poll()
        poll.register(self._ends, select.POLLIN)
        return bool(poll.poll(timeout_s * 1000))


class Template:
    """A process that forks others on request."""

    def __init__(self) -> None:
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._requests.settimeout(_ANSWER_TIMEOUT_S)
        self._guard = threading.Lock()
        with theirs:
            self._process = bound_processes.popen(
                [*PROGRAM, str(theirs.fileno()), ROOM],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )

    def fork(
        self,
        argv: Sequence[str],
        *,
        output: int,
        environment: Mapping[str, str],
        folder: pathlib.Path | None,
    ) -> Fork | None:
        """Fork a process for the command line of a `flake-hunt` command.

        `output` is the file descriptor of its log; `folder` its working directory (None: that of
        this process). Returns None if the template has ended or cannot fork, or if the request is
        too long. If there is no answer, ends the template, which might still fork, and raises
        ProcessError.
        """
        request = {
            "template": self._process.pid,
            "argv": list(argv),
            "environment": dict(environment),
            "folder": str((folder or pathlib.Path()).absolute()),
        }
        ends, theirs = os.pipe()
        try:
            pid = self._answer(json.dumps(request).encode(), [output, theirs])
        finally:
            os.close(theirs)
        if pid:
            return Fork(int(pid), ends)
        os.close(ends)
        return None

    def close(self) -> None:
        """End the template, and with it what it has forked."""
        self._requests.close()
        self._process.kill()
        self._process.wait()

    def _answer(self, request: bytes, descriptors: list[int]) -> bytes:
        """Return the pid that the template answers; nothing if there is no fork."""
        if len(request) > REQUEST_BYTES_MAX:
            return b""
        try:
            with self._guard:
                socket.send_fds(self._requests, [request], descriptors)
                return self._requests.recv(_ANSWER_BYTES_MAX)
        except TimeoutError:
            self.close()
            raise errors.ProcessError(
                f"expected the template of the processes to fork one within {_ANSWER_TIMEOUT_S:g} s"
            ) from None
        except OSError:
            return b""
