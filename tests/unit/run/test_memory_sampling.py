"""The memory of a run's processes is sampled while they run."""

import pathlib
import subprocess
import sys

from harness import clocks
from harness.history import records
from harness.run import memory_sampling

PARENT = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"
TIMEOUT_S = 60


def test_the_memory_of_descendants_counts() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE) as parent:
        clocks.wait_until(
            lambda: memory_sampling.resident_bytes(parent.pid) > 2 * own(parent.pid) * 0.8,
            timeout_s=TIMEOUT_S,
            why="the memory of a child to count",
        )
        parent.communicate()
    assert memory_sampling.resident_bytes(parent.pid) == 0


def own(pid: int) -> int:
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    (line,) = [line for line in status.splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) * 1024


def test_a_sample_has_every_process_that_runs_and_the_pods_so_far() -> None:
    written: list[records.MemoryUsed] = []
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        sampler = memory_sampling.MemorySampler(
            lambda: {"one": [process.pid], "gone": [2**22 + 1]},
            written.append,
            pods_ran=lambda: 7,
        )
        sampler.sample()
        process.communicate()
    (sample,) = written
    assert (sample.process, sample.pods_ran) == ("one", 7)
    assert sample.resident_bytes > 0
