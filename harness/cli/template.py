"""The program of the template from which the processes of a run are forked.

`harness.prepared_processes` starts it and says what it is for. Its arguments are the file
descriptor of the socket with the requests, and room for the command lines of the forks.
"""

import contextlib
import ctypes
import gc
import importlib
import json
import os
import pathlib
import selectors
import signal
import socket
import sys
from collections.abc import Sequence
from typing import Any

from harness import bound_processes, prepared_processes, processes
from harness.cli import main as command

MODULES = (
    "harness.apiserver.persistence",
    "harness.apiserver.server.process",
    "harness.cli.commands",
    "harness.cli.subcommands.part_command",
    "harness.client.recorders",
    "harness.cluster.driver.driver_settings",
    "harness.cluster.fake_nodes.kubelet_process",
    "harness.cluster.pool_changes.pool_changers",
    "harness.run.defects.known_defects",
    "harness.subject.process.subject_process",
    "pydantic",
)
"""The modules that the parts of most runs import. A fork imports others itself."""
_ARG_START, _ARG_END = 45, 46
"""Places of `arg_start` and `arg_end` behind the name in /proc/PID/stat (see proc(5))."""


def main() -> None:
    """Import the modules and serve; in a fork, run its command."""
    requests = socket.socket(fileno=int(sys.argv[1]))
    _show(prepared_processes.PROGRAM)
    os.close(os.pidfd_open(os.getpid()))  # raises, before there are forks, where there is none
    gc.disable()
    for module in MODULES:
        importlib.import_module(module)
    gc.freeze()  # the first collection of each fork would write to all of it, and so copy it
    arguments = Server(requests).serve()
    if arguments is not None:
        gc.enable()
        sys.argv = ["flake-hunt", *arguments]
        command.main()


class Server:
    """Forks on request, and reports how the forks ended."""

    def __init__(self, requests: socket.socket) -> None:
        """From now on ignore signals that batch systems send to all processes of a job."""
        self._requests = requests
        self._handlers = {
            number: signal.signal(number, signal.SIG_IGN)
            for number in (signal.SIGINT, signal.SIGTERM)
        }
        self._selector = selectors.DefaultSelector()
        self._selector.register(requests, selectors.EVENT_READ)
        self._forks: dict[int, tuple[int, int]] = {}
        """pidfd of a fork, which is readable when it has ended -> its pid, pipe for its exit code.
        """

    def serve(self) -> list[str] | None:
        """Serve until the socket is closed and return None; in a fork, return its arguments."""
        while True:
            ready = {key.fd for key, _ in self._selector.select()}
            for pidfd in ready & self._forks.keys():
                self._tell_end(pidfd)
            if self._requests.fileno() in ready:
                message, descriptors, _, _ = socket.recv_fds(
                    self._requests, prepared_processes.REQUEST_BYTES_MAX, 2
                )
                if not message:
                    return None
                if self._is_fork(*descriptors):
                    self._leave(descriptors[1])
                    return _become(json.loads(message), descriptors[0])

    def _tell_end(self, pidfd: int) -> None:
        pid, ends = self._forks.pop(pidfd)
        self._selector.unregister(pidfd)
        os.close(pidfd)
        exit_code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        with contextlib.suppress(BrokenPipeError):  # the other side has no use for it any more
            os.write(ends, str(exit_code).encode())
        os.close(ends)

    def _is_fork(self, output: int, ends: int) -> bool:
        """Fork; return whether this process is the fork. Answer with nothing if it cannot be."""
        try:
            pid = os.fork()
        except OSError:
            self._requests.send(b"")
            for descriptor in (output, ends):
                os.close(descriptor)
            return False
        if pid == 0:
            return True
        os.close(output)
        pidfd = os.pidfd_open(pid)
        self._selector.register(pidfd, selectors.EVENT_READ)
        self._forks[pidfd] = pid, ends
        return False

    def _leave(self, ends: int) -> None:
        """Give up what is the template's; answer when signals have their effect on this fork."""
        self._selector.close()
        for descriptor in (ends, *self._forks, *(pipe for _, pipe in self._forks.values())):
            os.close(descriptor)
        os.setsid()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._requests.send(str(os.getpid()).encode())
        self._requests.close()


def _become(request: dict[str, Any], output: int) -> list[str]:
    """Be like a process that was started with the request's command line; return its arguments."""
    bound_processes.die_with(request["template"])
    for number in (1, 2):
        os.dup2(output, number)
    os.close(output)
    _show(request["argv"])
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    arguments: list[str] = request["argv"][len(processes.command()) :]
    return arguments


def _show(argv: Sequence[str]) -> None:
    fields = pathlib.Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(fields[_ARG_START]), int(fields[_ARG_END])
    text = b"".join(os.fsencode(word) + b"\0" for word in argv)[: end - start - 1]
    ctypes.memmove(start, text.ljust(end - start, b"\0"), end - start)


if __name__ == "__main__":
    main()
