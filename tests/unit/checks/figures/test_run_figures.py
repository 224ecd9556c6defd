"""Figures are counted right; they enter no verdict."""

import pathlib

import msgspec
import pytest

from harness.checks import (
    check_registry,
    device_exclusivity,
    judging,
    protocol,
    run_figures,
    verdicts,
)
from harness.checks.progress import claim_progress, resource_leaks
from harness.history import records
from tests.histories import building


def _figures(tmp_path: pathlib.Path, text: str) -> run_figures.Figures:
    return judging.judge(building.build(tmp_path / "run", text)).figures


def test_counts(tmp_path: pathlib.Path) -> None:
    found = _figures(tmp_path, "a= a+D1 p* b+D1 a~ c+D2! q* c-D2")
    assert (found.claims, found.pods, found.pods_running) == (3, 2, 2)
    assert (found.allocations, found.devices, found.devices_used_again) == (3, 2, 1)
    assert found.double_allocations == 1
    assert found.api_calls == 6
    assert found.api_errors == {"create pods 409 AlreadyExists": 1}


def test_times_come_from_the_records(tmp_path: pathlib.Path) -> None:
    found = _figures(tmp_path, "a= b= . a+D1 . . b+D2")
    assert found.seconds == 1.0
    assert found.scheduling_seconds == 0.003
    assert found.allocations_per_s == 666.7
    waited = found.claim_to_allocation
    assert (waited.count, waited.p50_ms, waited.max_ms) == (2, 4.0, 5.0)
    assert _figures(tmp_path / "pods", "p* r:? . q*").pods_per_s == 666.7


@pytest.mark.parametrize("asked", [True, False])
def test_figures_of_what_a_plan_does_not_ask_for_are_missing(
    tmp_path: pathlib.Path, asked: bool
) -> None:
    nodes, least = [building.KUBELET] * asked, {"taint": 1} if asked else {}
    changes = {"expected_preparations": nodes, "pool_changes": least}
    found = judging.judge(building.build(tmp_path / "run", "a+D1", changes=changes)).figures
    assert (found.prepared_claims is not None) is (found.changed_pools is not None) is asked


def test_of_nothing_there_is_nothing_to_say(tmp_path: pathlib.Path) -> None:
    found = _figures(tmp_path, "")
    assert found.scheduling_seconds is None
    assert found.allocations_per_s is None
    assert found.claim_to_allocation == run_figures.Latency(count=0)


def test_quantiles_of_waits(tmp_path: pathlib.Path) -> None:
    """Waits of 1, 3, 5, …, 19 ms: the claim that came last waits least."""
    numbers = range(10)
    words = [f"a{number}=" for number in numbers]
    words += [f"a{number}+D{number}" for number in reversed(numbers)]
    assert _figures(tmp_path, " ".join(words)).claim_to_allocation == run_figures.Latency(
        count=10, p50_ms=10.0, p90_ms=17.2, p99_ms=18.8, max_ms=19.0
    )


def test_violations_are_counted_by_their_checks(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {
        device_exclusivity.CHECK.name: 4,
        claim_progress.CHECK.name: 2,
        resource_leaks.RESOURCE_LEAKS.name: 1,
        "other": 8,
    }

    def check(name: str, count: int) -> protocol.Check:
        answer = verdicts.NotExamined(check=name, promise="", reason="").as_unknown()
        counted = msgspec.structs.replace(answer, violation_count=count)
        return protocol.Check(name=name, guarantee="", promise="", judge=lambda given: counted)

    monkeypatch.setattr(check_registry, "CHECKS", tuple(check(*item) for item in found.items()))
    figures = _figures(tmp_path, "a+D1")
    assert (figures.double_allocations, figures.stuck, figures.violations) == (4, 3, 15)
    monkeypatch.setattr(check_registry, "CHECKS", ())
    figures = _figures(tmp_path / "none", "a+D1")
    assert (figures.double_allocations, figures.stuck, figures.violations) == (0, 0, 0)


def test_one_allocation_takes_no_time(tmp_path: pathlib.Path) -> None:
    found = _figures(tmp_path, "a= b= . a+D1")
    assert (found.scheduling_seconds, found.allocations_per_s) == (None, None)
    assert found.claim_to_allocation.count == 1, "b never had a device"


def test_memory_comes_from_the_record_of_the_processes(tmp_path: pathlib.Path) -> None:
    directory = building.build(tmp_path / "run", "a+D1")
    first, *others = building.processes()
    sample = records.MemoryUsed(process="recorder", resident_bytes=2**20, pods_ran=0, ts_ns=0)
    directory.processes.unlink()
    assert judging.judge(directory).figures.memory == []
    building.write(directory.processes, [first, sample, *others], process="run")
    [memory] = judging.judge(directory).figures.memory
    assert (memory.process, memory.most_mib) == ("recorder", 1.0)


# ------------------------------------------------------------------------------------ memory

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
