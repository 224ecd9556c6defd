"""Runs while they go on: the figures agree with those of the verdict, whatever is read when."""

import itertools
import os
import pathlib
from collections.abc import Iterator

import msgspec
import pytest

from harness import clocks
from harness.checks import judging
from harness.history import directories, plans
from harness.serving import live_runs, snapshots
from tests.histories import building
from tests.support import golden_runs

GOLDEN = golden_runs.FOLDER
ENOUGH_S = 30.0


def state_of(path: pathlib.Path) -> snapshots.Run:
    run = live_runs.LiveRun(path)
    assert run.read(at_most_s=ENOUGH_S)
    found = run.snapshot()
    run.close()
    return found


@pytest.mark.parametrize(
    "path",
    [
        *sorted((GOLDEN / "device_exclusivity").iterdir()),
        *sorted((GOLDEN / "scheduler_exclusivity").iterdir()),
        *sorted((GOLDEN / "claim_progress").iterdir()),
        *sorted((GOLDEN / "distinct_devices").iterdir()),
    ],
    ids=lambda path: f"{path.parent.name}-{path.name}",
)
def test_the_figures_are_those_of_the_verdict(path: pathlib.Path) -> None:
    figures = judging.examine(directories.existing(path)).judgement.figures
    found = state_of(path)
    assert (found.claims_created, found.pods_created) == (figures.claims, figures.pods)
    assert found.allocations == figures.allocations
    assert found.double_allocations == figures.double_allocations
    assert found.pods_ran == figures.pods_running
    assert found.api_calls.calls + found.api_calls_open == figures.api_calls


def test_a_run_that_is_read_while_its_files_grow_ends_with_the_same(tmp_path: pathlib.Path) -> None:
    made = building.build(tmp_path / "made", "a+D1 p:a p*" + " b+D1 b~" * 20)
    whole = {path: path.read_bytes() for path in made.journals()}
    for path in whole:
        path.write_bytes(b"")
    run = live_runs.LiveRun(made.path)
    steps = itertools.zip_longest(*(_pieces(path, content) for path, content in whole.items()))
    for pieces in steps:
        for path, piece in filter(None, pieces):
            with path.open("ab") as file:
                file.write(piece)
        assert run.read(at_most_s=ENOUGH_S)
    found = run.snapshot()
    run.close()
    again = state_of(made.path)
    assert msgspec.structs.replace(found, elapsed_s=again.elapsed_s) == again  # time goes on
    assert found.double_allocations == 20
    assert (found.claims, found.pods_ran) == (1, 1)


def _pieces(path: pathlib.Path, content: bytes) -> Iterator[tuple[pathlib.Path, bytes]]:
    for begin in range(0, len(content), 97):
        yield path, content[begin : begin + 97]


def test_reading_ends_after_the_time_and_goes_on(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_runs, "_BATCH", 10)
    made = building.build(tmp_path / "run", "a+D1" + " b+D1 b~" * 20)
    run, looks = live_runs.LiveRun(made.path), 0
    while not run.read(at_most_s=0.0):
        looks += 1
        assert not run.snapshot().is_read
    assert looks > 2
    assert run.snapshot().double_allocations == 20
    run.close()


def test_a_compressed_run_and_a_plain_one_are_the_same(tmp_path: pathlib.Path) -> None:
    text = "a+D1 b+D1 p:a p*"
    building.build(tmp_path / "plain", text)
    building.build(tmp_path / "small", text, changes={"compression": "zstd"})
    plain, small = (state_of(tmp_path / name) for name in ("plain", "small"))
    differing = {"directory", "elapsed_s"}
    assert {
        key
        for key, value in msgspec.to_builtins(plain).items()
        if value != msgspec.to_builtins(small)[key]
    } <= differing


# ---------------------------------------------------------------- how it goes on


def under_way(path: pathlib.Path, *, pid: int, silent_s: float = 60.0) -> directories.RunDirectory:
    """A run without a verdict that this boot's process `pid` makes, silent for some time."""
    made = building.build(
        path,
        "a+D1",
        changes={"pid": pid, "boot_id": clocks.boot_id(), "created_wall_ns": clocks.wall_ns()},
    )
    for file in path.iterdir():
        os.utime(file, times=(clocks.wall_ns() / 1e9 - silent_s,) * 2)
    return made


@pytest.mark.parametrize(
    ("pid", "silent_s", "state"),
    [(os.getpid(), 60.0, "running"), (2**22 + 1, 0.0, "running"), (2**22 + 1, 60.0, "gone")],
    ids=["its process lives", "it still writes", "neither: no pid is so large"],
)
def test_a_run_goes_on_while_its_process_lives_or_it_writes(
    tmp_path: pathlib.Path, pid: int, silent_s: float, state: str
) -> None:
    under_way(tmp_path / "run", pid=pid, silent_s=silent_s)
    found = state_of(tmp_path / "run")
    assert (found.state, found.problem == "") == (state, state == "running")


def test_a_process_that_is_younger_than_the_run_is_another_one(tmp_path: pathlib.Path) -> None:
    made = under_way(tmp_path / "run", pid=os.getpid())
    plan = msgspec.structs.replace(plans.read(made.plan), created_wall_ns=10**18)
    plans.write(made.plan, plan)
    os.utime(made.plan, times=(1.0, 1.0))
    assert state_of(tmp_path / "run").state == "gone"


def test_a_run_of_another_host_goes_on_while_it_writes(tmp_path: pathlib.Path) -> None:
    made = building.build(tmp_path / "run", "a+D1", changes={"boot_id": "other", "pid": 1})
    assert state_of(made.path).state == "running"
    for file in made.path.iterdir():
        os.utime(file, times=(clocks.wall_ns() / 1e9 - 100,) * 2)
    assert state_of(made.path).state == "gone"


def test_a_damaged_journal_is_named_and_the_others_are_read(tmp_path: pathlib.Path) -> None:
    made = under_way(tmp_path / "run", pid=os.getpid())
    with made.operations(building.TRAFFIC).open("ab") as file:
        file.write(b"no record\n")
    found = state_of(made.path)
    assert found.problem.startswith("operations-traffic-0.jsonl, line ")
    assert found.claims == 1
