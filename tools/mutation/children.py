"""Processes that are copies of this one, do one thing and answer."""

import os
import pathlib
import pickle
import resource
from collections.abc import Callable
from typing import TypeVar

MEMORY_MAX_BYTES = 6 << 30
Answer = TypeVar("Answer")


def answer(function: Callable[[], Answer], *, cpu_s: float | None = None) -> Answer | None:
    """Return what a function returns in a child process; None if the process died of it.

    The child writes to nowhere, and dies after `cpu_s` seconds of CPU time. None: it may take any.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        _work(function, writing, cpu_s)
    os.close(writing)
    with open(reading, "rb") as pipe:  # noqa: PTH123 - an open file, not a path
        told = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return None if code or not told else pickle.loads(told)  # noqa: S301 - from our own child


def _work(function: Callable[[], object], writing: int, cpu_s: float | None) -> None:
    code = 1
    try:
        if cpu_s is not None:
            seconds = int(cpu_s) + 1
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX_BYTES, MEMORY_MAX_BYTES))
        with pathlib.Path(os.devnull).open("w") as nothing:
            os.dup2(nothing.fileno(), 1)
            os.dup2(nothing.fileno(), 2)
        told = pickle.dumps(function())
        with open(writing, "wb") as pipe:
            pipe.write(told)
        code = 0
    finally:
        os._exit(code)
