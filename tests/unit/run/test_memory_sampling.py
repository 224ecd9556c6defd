"""The memory of a run's processes is sampled while they run, and compared by the pods that ran."""

import pathlib
import subprocess
import sys

from harness import clocks
from harness.checks import run_figures
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


def test_a_sampler_that_was_never_started_can_be_stopped() -> None:
    memory_sampling.MemorySampler(dict, lambda _: None, pods_ran=lambda: 0).stop()


# --------------------------------------------------------------------------- the figures


def _sample(process: str, mib: int, pods: int) -> records.MemoryUsed:
    return records.MemoryUsed(process=process, resident_bytes=mib * 2**20, pods_ran=pods, ts_ns=0)


def test_the_first_sample_at_each_mark_is_printed() -> None:
    found = run_figures.memory_of(
        [
            records.Phase(name="load", ts_ns=0),
            *(_sample("scheduler", 50 + index, 500 * index) for index in range(25)),
            _sample("late", 9, 10_000),
        ]
    )
    scheduler, late = found
    assert scheduler.mib == {1_000: 52.0, 10_000: 70.0}
    assert scheduler.most_mib == 74.0
    assert late.mib == {1_000: 9.0, 10_000: 9.0}


def test_a_line_needs_two_marks() -> None:
    few = run_figures.memory_of([_sample("scheduler", 50, 10), _sample("scheduler", 51, 1_500)])
    assert run_figures.memory_lines(few) == []
    many = run_figures.memory_of([_sample("kubelet", 50, 1_000), _sample("kubelet", 51, 10_500)])
    assert run_figures.memory_lines(many) == [
        "kubelet: 50 MiB at 1,000 pods, 51 MiB at 10,000 pods"
    ]
