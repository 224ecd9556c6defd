"""Memory of processes at the marks that a run reached."""

from harness.checks import run_figures
from harness.history import records

MIB = 2**20


def sample(process: str, pods_ran: int, mib: float) -> records.MemoryUsed:
    return records.MemoryUsed(
        process=process, resident_bytes=int(mib * MIB), pods_ran=pods_ran, ts_ns=pods_ran
    )


SAMPLES = [
    records.Phase(name="load", ts_ns=0),
    sample("scheduler", 10, 50),
    sample("recorder", 10, 20),
    sample("scheduler", 1_000, 60.06),
    sample("scheduler", 1_001, 90),
    sample("scheduler", 10_000, 80),
    sample("recorder", 999, 21),
    sample("scheduler", 100_000, 85),
]


def test_the_first_sample_from_a_mark_on_counts() -> None:
    assert run_figures.memory_of(SAMPLES) == [
        run_figures.ProcessMemory(
            process="scheduler", mib={1_000: 60.1, 10_000: 80.0, 100_000: 85.0}, most_mib=90.0
        ),
        run_figures.ProcessMemory(process="recorder", mib={}, most_mib=21.0),
    ]


def test_only_growth_from_mark_to_mark_is_told() -> None:
    one = run_figures.ProcessMemory(process="one", mib={1_000: 5.0}, most_mib=5.0)
    two = run_figures.ProcessMemory(process="two", mib={1_000: 5.0, 10_000: 6.5}, most_mib=7.0)
    assert run_figures.memory_lines([*run_figures.memory_of(SAMPLES), one, two]) == [
        "scheduler: 60.1 MiB at 1,000 pods, 80 MiB at 10,000 pods, 85 MiB at 100,000 pods",
        "two: 5 MiB at 1,000 pods, 6.5 MiB at 10,000 pods",
    ]
