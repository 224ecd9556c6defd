"""Steps of several schedulers: in one order, and each gather belongs to its own scheduler."""

import pathlib
from collections.abc import Sequence

from harness.checks import judging
from harness.history import directories, records
from harness.report import evidence
from harness.report.causes import explaining
from tests.histories import building, damages, language
from tests.unit.report import races

SUCCESSOR = "scheduler.2"


def _with_successor(
    path: pathlib.Path, first: Sequence[records.Step], second: Sequence[records.Step]
) -> directories.RunDirectory:
    """A run whose scheduler was replaced by another incarnation."""
    directory = building.build(path / "run", races.TEXT, steps=first)
    building.write(directory.steps(SUCCESSOR), second, process=SUCCESSOR)
    start, end = language.at(0), language.at(9)
    damages.appended(
        damages.processes,
        records.ProcessStarted(process=SUCCESSOR, pid=9, argv=[SUCCESSOR], ts_ns=start),
        records.ProcessEnded(process=SUCCESSOR, pid=9, exit_code=0, expected=True, ts_ns=end),
    )(directory)
    return directory


def _collected(directory: directories.RunDirectory) -> evidence.Evidence:
    return evidence.Evidence(judging.examine(directory))


def _lines(steps: Sequence[records.Step]) -> list[str]:
    return [f"{step.thread} {step.name}" for step in steps]


def test_the_gather_is_that_of_the_scheduler_which_took_the_device(tmp_path: pathlib.Path) -> None:
    # Both schedulers count their steps from 0, and one gathers while the other one decides.
    other = races.steps([races.added(races.A), races.removed(races.A), *races.GATHER])
    later_ns = other[0].ts_ns + 150_000
    decider = races.steps([*races.GATHER, races.added(races.B)], first_ns=later_ns)
    source = _collected(_with_successor(tmp_path, decider, other))
    assert _lines(source.steps[0]) == [
        f"{SUCCESSOR}/scheduling in-flight.added",
        f"{SUCCESSOR}/binder-0 in-flight.removed",
        *(f"scheduler/scheduling {name}" for _, name, _ in races.GATHER),
        "scheduler/scheduling in-flight.added",
    ]
    assert [step.seq for step in source.steps[0]] == list(range(7))


def test_the_order_across_schedulers_explains_it(tmp_path: pathlib.Path) -> None:
    first = races.steps([races.added(races.A), races.removed(races.A)])
    later_ns = first[-1].ts_ns + 50_000
    second = races.steps([*races.GATHER, races.added(races.B)], first_ns=later_ns)
    source = _collected(_with_successor(tmp_path, first, second))
    found = explaining.explain(source.double_allocations[0], source.steps[0])
    assert "a left the claims in flight before its device was inserted" in found
