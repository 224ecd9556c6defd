"""A query of a run with many holds, written as Parquet, by a process that ends.

Each figure is of one process with its imports: seconds of the clock and of CPU, and its memory.
"""

import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from bench import large_runs

HOLDS = 100_000
_PROCESS = (
    "import resource, sys\n"
    "from harness.cli import commands\n"
    "code = commands.run()\n"
    "used = resource.getrusage(resource.RUSAGE_SELF)\n"
    "print(used.ru_utime + used.ru_stime, used.ru_maxrss)\n"
    "sys.exit(code)\n"
)


def measure() -> Iterator[tuple[str, float, str]]:
    """Measure a query of HOLDS holds."""
    with tempfile.TemporaryDirectory() as folder:
        run = large_runs.build(pathlib.Path(folder, "run"), HOLDS)
        target = str(pathlib.Path(folder, "holds.parquet"))
        words = "query", str(run.path), "from holds", "--output", target
        yield from _of_command(f"{HOLDS:,} holds written as Parquet", *words)


def _of_command(what: str, *arguments: str) -> Iterator[tuple[str, float, str]]:
    begun = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _PROCESS, *arguments], capture_output=True, text=True, check=True
    )
    yield what, time.perf_counter() - begun, "s"
    seconds, kibibytes = map(float, done.stdout.split()[-2:])
    yield what, seconds, "s CPU"
    yield f"{what}: memory", kibibytes / 1024, "MiB"
