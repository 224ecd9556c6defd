"""CPU time of a command and of a call, the best of several; other programs disturb it least."""

import os
import resource
import subprocess
import time
from collections.abc import Callable, Sequence


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
