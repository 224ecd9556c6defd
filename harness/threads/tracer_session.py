"""A run's connection to the tracer of one of its processes."""

import contextlib
import os
import pathlib
import socket
from collections.abc import Sequence

from harness import clocks, errors, processes
from harness.threads import messages

_PIECE = 1 << 16
CONNECT_S = 15.0
"""Time limit for a tracer to listen, in seconds."""


class TracerSession:
    """Commands a tracer, and collects what it tells."""

    def __init__(self, path: pathlib.Path) -> None:
        """Raises WaitTimeoutError if no tracer listens there in time."""
        self.told: list[messages.Happened] = []
        """Everything, in order."""
        self._lines = messages.Lines()
        self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        clocks.wait_until(
            lambda: self._has_connected(path),
            timeout_s=CONNECT_S,
            why=f"a tracer at {path}",
        )
        self._connection.setblocking(False)  # noqa: FBT003

    def tell(self, command: messages.Command) -> None:
        """Send a command. Raises FaultError if the program has ended."""
        try:
            self._connection.sendall(messages.encoded(command))
        except OSError as error:
            raise errors.FaultError(
                f"expected the traced program to run, but it has ended ({error.strerror})"
            ) from error

    def find(self, name: str, *kinds: str) -> messages.Happened | None:
        """Return the first thing of these kinds that has happened to a watch; None: nothing yet.

        Raises UsageError if the tracer has refused it.
        """
        self.read()
        for item in self.told:
            if item.name == name and item.kind == "refused":
                raise errors.UsageError(item.text)
            if item.name == name and item.kind in kinds:
                return item
        return None

    def read(self) -> None:
        with contextlib.suppress(BlockingIOError, ConnectionResetError):
            while data := self._connection.recv(_PIECE):
                self.told += map(messages.happened, self._lines.of(data))

    def close(self) -> None:
        """Let all threads go on, and end the connection."""
        self._connection.close()

    def _has_connected(self, path: pathlib.Path) -> bool:
        folder = os.open(path.parent, os.O_PATH | os.O_CLOEXEC)
        try:
            self._connection.connect(f"/proc/self/fd/{folder}/{path.name}")
        except OSError:
            return False
        finally:
            os.close(folder)
        return True


def command(
    socket_path: pathlib.Path, argv: Sequence[str], *, first: messages.Try | None = None
) -> list[str]:
    """Return the command line of a tracer that starts a program, and begins with a try."""
    begun = messages.encoded(first).decode().strip() if first else ""
    return [*processes.python("harness.threads.tracer"), str(socket_path), begun, *argv]
