"""Asks another program for its version: in little time, and away from any cluster of the user."""

import contextlib
import errno
import functools
import os
import re
import select
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from typing import IO

from harness import bound_processes, clocks, errors
from harness.cluster.local import binaries
from harness.history import subject_names

TIMEOUT_S = 2.0
"""Seconds for an answer; a program that has no `--version` may begin to work instead."""
_BYTES_MAX = 4096
_VERSION = re.compile(r"(?<![\w.])(?!\d+(?:\.\d+){3})v?\d+\.\d+[\w.+-]*")
"""Not the address of a host."""
_LEFT_OUT = ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")
"""Variables by which a program that begins to work would find a cluster."""


def of_command(command: Sequence[str]) -> str:
    words = subject_names.words_of_program(command)
    try:
        program = str(binaries.program(words[0]))
    except errors.UsageError:
        return ""
    ended, lines = said((program, *words[1:], "--version"))
    found = _VERSION.search(lines[0]) if lines and ended == 0 else None
    return found[0] if found else ""


@functools.lru_cache(64)
def said(command: tuple[str, ...]) -> tuple[int | None, tuple[str, ...]]:
    """Return the exit code of a command and the lines that it prints, the first 4 KB of them.

    The code is None if it does not end within TIMEOUT_S, or prints more. Raises UsageError if it
    cannot be started.
    """
    with (
        tempfile.TemporaryDirectory(prefix="flake-hunt-version-") as home,
        _started(command, home) as process,
    ):
        deadline_ns = clocks.monotonic_ns() + int(TIMEOUT_S * 1e9)
        output = _read(process.stdout, deadline_ns) if process.stdout else b""
        if len(output) < _BYTES_MAX:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(deadline_ns - clocks.monotonic_ns(), 0) / 1e9)
        lines = output.decode(errors="replace").strip().splitlines()
        return process.returncode, tuple(lines)


@contextlib.contextmanager
def _started(command: Sequence[str], home: str) -> Iterator["subprocess.Popen[bytes]"]:
    known = {name: value for name, value in os.environ.items() if name not in _LEFT_OUT}
    try:
        process = bound_processes.popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**known, "HOME": home},
            start_new_session=True,
        )
    except OSError as error:
        is_none = error.errno == errno.ENOEXEC
        what = "it is for another machine or system, or a text without #!" if is_none else ""
        raise errors.UsageError(
            f"expected a program that starts, but {command[0]} does not ({what or error.strerror}): "
            "build it for this machine, or name the program that runs it, as in 'python scheduler.py "
            "{kubeconfig} {scheduler_name}'"
        ) from error
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        if process.stdout:
            process.stdout.close()
        process.wait()


def _read(file: IO[bytes], deadline_ns: int) -> bytes:
    output = b""
    poll = select.poll()
    poll.register(file, select.POLLIN)
    while len(output) < _BYTES_MAX:
        left_s = (deadline_ns - clocks.monotonic_ns()) / 1e9
        if left_s <= 0 or not poll.poll(left_s * 1000):
            break
        part = os.read(file.fileno(), _BYTES_MAX)
        if not part:
            break
        output += part
    return output
