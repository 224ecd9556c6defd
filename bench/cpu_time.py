"""CPU time of a command and of a call, the best of several; other programs disturb it least.

And that of each process of a run.
"""

import collections
import contextlib
import os
import resource
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import psutil

LOOK_S = 0.2
"""Seconds between two looks at the processes of a run."""


def of_command(command: Sequence[str], times: int = 3) -> float:
    """Return the CPU seconds of a command that must succeed, with imports of compiled modules."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    spent = []
    for _ in range(times):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, env=environment, capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(spent)


def of_call(call: Callable[[], object], times: int = 3) -> float:
    """Return the CPU seconds of a call in this process."""
    spent = []
    for _ in range(times):
        started = time.process_time()
        call()
        spent.append(time.process_time() - started)
    return min(spent)


@contextlib.contextmanager
def of_parts() -> Iterator[dict[str, float]]:
    """Yield what becomes, with the block's end, the CPU seconds of each part of a run in it.

    A process that has ended has the seconds of the last look at it.
    """
    found: dict[str, float] = collections.defaultdict(float)
    seconds: dict[psutil.Process, tuple[str, float]] = {}
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(LOOK_S):
            for process in psutil.Process().children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    times = process.cpu_times()
                    seconds[process] = _part(process.cmdline()), times.user + times.system

    looking, started = threading.Thread(target=look), time.process_time()
    looking.start()
    try:
        yield found
    finally:
        ended.set()
        looking.join()
    found["run"] = time.process_time() - started
    for part, spent in seconds.values():
        found[part] += spent


def _part(command: Sequence[str]) -> str:
    """Return the part of a run that a process is, by its command line, which may be cut off."""
    words = "\0".join(command).split("\0")
    if "part" in words:
        return words[words.index("part") + 1]
    return next((part for part in ("traffic", "template") if part in "".join(words)), "others")
