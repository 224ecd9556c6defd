"""Programs that the kernel kills when the process that started them dies. Linux only.

`subprocess.Popen(preexec_fn=…)` would run Python between fork and exec, in a copy of a process with
threads: both may then wait for ever for a lock of a thread. So a small program is started instead,
this file, which asks the kernel and then becomes the wanted program. It imports nothing of Flake
Hunt and no site packages, and takes 10 ms.
"""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

_PR_SET_PDEATHSIG = 1
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


def popen(argv: Sequence[str], **options: Any) -> "subprocess.Popen[bytes]":
    """Start a program as `subprocess.Popen` does, with its options.

    For the kernel the parent is the thread that calls this. Raises OSError if the program cannot be
    executed.
    """
    told, tell = os.pipe()
    with os.fdopen(told, "rb") as failures:
        try:
            wanted = [str(os.getpid()), str(tell), *argv]
            descriptors = [tell, *options.pop("pass_fds", ())]
            begun = subprocess.Popen(
                [sys.executable, "-I", "-S", __file__, *wanted], pass_fds=descriptors, **options
            )
        finally:
            os.close(tell)
        failure = failures.read()
    if failure:
        with begun:  # closes its pipes
            pass
        raise OSError(int(failure), os.strerror(int(failure)), argv[0])
    return begun


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent, with this pid, dies."""
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    except (OSError, AttributeError):
        return
    if os.getppid() != parent:  # the parent died before the call
        os.kill(os.getpid(), signal.SIGKILL)


def _become(parent: int, tell: int, argv: list[str]) -> None:
    die_with(parent)
    os.set_inheritable(tell, False)  # noqa: FBT003
    for number in _IGNORED_BY_PYTHON:
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(argv[0], argv)  # noqa: S606
    except OSError as error:
        os.write(tell, str(error.errno).encode())


if __name__ == "__main__":
    _become(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
