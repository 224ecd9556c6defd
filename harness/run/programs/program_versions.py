"""Asks another program for its version: in little time, and away from any cluster of the user."""

import contextlib
import errno
import functools
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Sequence

from harness import bound_processes, clocks, errors
from harness.cluster.local import binaries
from harness.history import subject_names

TIMEOUT_S = 2.0
"""Seconds for an answer; a program that has no `--version` may begin to work instead."""
_LOOK_S = 0.01
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
    known = {name: value for name, value in os.environ.items() if name not in _LEFT_OUT}
    with (
        tempfile.TemporaryDirectory(prefix="flake-hunt-version-") as home,
        tempfile.TemporaryFile() as output,
    ):
        try:
            process = bound_processes.popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**known, "HOME": home},
                start_new_session=True,
            )
        except OSError as error:
            raise _unstartable(command[0], error) from error
        until_ns = clocks.monotonic_ns() + TIMEOUT_S * 1e9
        while (code := process.poll()) is None and clocks.monotonic_ns() < until_ns:
            if os.fstat(output.fileno()).st_size >= _BYTES_MAX:
                break
            clocks.sleep(_LOOK_S)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)  # with all that it has started
        process.wait()
        output.seek(0)
        lines = output.read(_BYTES_MAX).decode(errors="replace").strip().splitlines()
        return code, tuple(lines)


def _unstartable(program: str, error: OSError) -> errors.UsageError:
    is_none = error.errno == errno.ENOEXEC
    what = "it is for another machine or system, or a text without #!" if is_none else ""
    return errors.UsageError(
        f"expected a program that starts, but {program} does not ({what or error.strerror}): "
        "build it for this machine, or name the program that runs it, as in 'python scheduler.py "
        "{kubeconfig} {scheduler_name}'"
    )
