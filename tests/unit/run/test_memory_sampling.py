"""The memory of a run's processes is sampled while they run."""

import pathlib
import subprocess
import sys

from harness import clocks
from harness.history import records
from harness.run import memory_sampling

PARENT = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"


def own(pid: int) -> int:
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    (line,) = [line for line in status.splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) * 1024


def test_a_sample_has_every_process_that_runs_with_its_children_and_the_pods_so_far() -> None:
    written: list[records.MemoryUsed] = []
    with subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE) as parent:
        sampler = memory_sampling.MemorySampler(
            lambda: {"one": [parent.pid], "gone": [2**22 + 1]}, written.append, pods_ran=lambda: 7
        )

        def counts_the_child() -> bool:
            sampler.sample()
            return written[-1].resident_bytes > 2 * own(parent.pid) * 0.8

        clocks.wait_until(counts_the_child, timeout_s=60, why="the memory of a child to count")
        parent.communicate()
    assert {(sample.process, sample.pods_ran) for sample in written} == {("one", 7)}
