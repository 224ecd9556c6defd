"""The ends of a run: its load was there, nothing can go on any more, or a violation was seen."""

import pathlib
from typing import Any

import msgspec
import pytest

from harness import clocks, concurrency
from harness.checks import judging, verdicts
from harness.checks.progress import world_states
from harness.history import directories
from harness.run import goals
from harness.scenario import loading
from tests.histories import building, worlds
from tests.histories.specimens import GOLDEN
from tests.support import cases


def test_pods_are_counted_once_and_forgotten_when_they_go() -> None:
    counter = goals.PodCounter()
    pending = {"metadata": {"uid": "a"}, "status": {"phase": "Pending"}}
    running = {"metadata": {"uid": "a"}, "status": {"phase": "Running"}}
    counter.on_add(pending, initial=False)
    assert (counter.present, counter.running) == (1, 0)
    counter.on_update(pending, running)
    counter.on_update(running, running)
    assert (counter.present, counter.running) == (1, 1)
    counter.on_delete(running)
    assert (counter.present, counter.running, counter.ran) == (0, 0, 1)


@pytest.mark.parametrize(("name", "shared", "per_pod"), cases.read(__file__, "loads"))
def test_so_many_pods_mean_that_the_load_was_there(name: str, shared: int, per_pod: int) -> None:
    """A claim is shared by some pods, or a pod has several; a device counts as used again from its
    second claim on."""
    scenario = loading.load(name).scenario
    load, traffic = scenario.load, scenario.traffic
    assert getattr(traffic, "pods_per_claim", 1) == shared
    assert getattr(traffic, "claims_per_pod", 1) == per_pod
    reused = load.reuse_min + scenario.pools.device_count if load.reuse_min else 0
    claims = max(load.allocations_min, reused)
    least = -(-claims * shared // per_pod)
    assert goals.pods_for_load(scenario) == max(load.pods_running_min, least)


@pytest.mark.parametrize(("course", "ran", "is_up"), cases.read(__file__, "slow_loads"))
def test_a_slow_load_gets_more_time_if_it_reaches_its_goal_then(
    course: list[tuple[float, int]], ran: int, is_up: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The course: seconds that pass, and pods that have run before them; 100 are wanted in 10 s."""
    now_s = 100.0
    monkeypatch.setattr(concurrency, "monotonic_s", lambda: now_s)
    time = goals.LoadTime(10.0)
    for seconds, before in course:
        assert not time.is_up(before, 100)
        now_s += seconds
    assert time.is_up(ran, 100) is is_up


# ------------------------------------------------------------------------------- at rest


class Clock:
    def __init__(self) -> None:
        self.s = 100.0

    def __call__(self) -> int:
        return int(self.s * 1e9)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(clocks, "monotonic_ns", clock)
    return clock


@pytest.fixture
def watch(clock: Clock) -> goals.Convergence:
    watch = goals.Convergence(worlds.plan())
    watch.handler(world_states.SLICES).on_add(worlds.devices_of("n", 2), initial=True)
    return watch


def test_a_waiting_pod_is_pending_until_it_runs(watch: goals.Convergence, clock: Clock) -> None:
    waiting, claim = worlds.pod("p", claim="a"), worlds.claim("a")
    watch.handler(world_states.CLAIMS).on_add(claim, initial=False)
    watch.handler(world_states.PODS).on_add(waiting, initial=False)
    clock.s += 60
    assert (watch.pending, watch.is_at_rest()) == (1, False)
    held = worlds.claim("a", worlds.device("n", 0), users=["p"])
    watch.handler(world_states.CLAIMS).on_update(claim, held)
    running = worlds.pod("p", claim="a", phase="Running", node="n")
    watch.handler(world_states.PODS).on_update(waiting, running)
    assert (watch.pending, watch.is_at_rest()) == (0, False)
    clock.s += goals.QUIET_S
    assert watch.is_at_rest()


def test_a_leak_is_pending_until_the_claim_is_gone(watch: goals.Convergence, clock: Clock) -> None:
    claim = worlds.claim("a", worlds.device("n", 0), users=["gone"])
    watch.handler(world_states.CLAIMS).on_add(claim, initial=False)
    assert watch.pending == 1
    watch.handler(world_states.CLAIMS).on_delete(claim)
    assert watch.pending == 0
    clock.s += goals.QUIET_S
    assert watch.is_at_rest()


def test_doubts_are_pending_too(watch: goals.Convergence) -> None:
    claim = worlds.claim("a", allocationMode="All")
    watch.handler(world_states.CLAIMS).on_add(claim, initial=False)
    watch.handler(world_states.PODS).on_add(worlds.pod("p", claim="a"), initial=False)
    assert watch.pending == 1


def test_the_time_without_progress(watch: goals.Convergence, clock: Clock) -> None:
    clock.s += 5
    assert watch.still_s(0) == pytest.approx(5)
    assert watch.still_s(int((clock.s - 2) * 1e9)) == pytest.approx(2)
    watch.handler(world_states.CLAIMS).on_add(worlds.claim("c", owner="p"), initial=False)
    assert watch.still_s(0) == pytest.approx(5), "a generated claim is no progress"
    watch.handler(world_states.PODS).on_add(worlds.pod("p"), initial=False)
    assert watch.still_s(0) == 0


# ----------------------------------------------------------------------------- violations


def claim(uid: str, *devices: str, **flags: object) -> dict[str, Any]:
    results = [{"driver": "d", "pool": "p", "device": name, **flags} for name in devices]
    status = {"allocation": {"devices": {"results": results}}} if devices else {}
    return {"metadata": {"uid": uid}, "status": status}


def test_a_device_in_two_claims_is_found_but_not_one_claim_after_the_other() -> None:
    spotter = goals.DoubleAllocationSpotter()
    spotter.on_add(claim("a", "1"), initial=False)
    spotter.on_update(claim("a", "1"), claim("a"))
    spotter.on_add(claim("b", "1"), initial=False)
    spotter.on_delete(claim("b", "1"))
    spotter.on_add(claim("c", "1"), initial=False)
    spotter.on_add(claim("d", "2"), initial=False)
    assert spotter.found is None
    spotter.on_update(claim("d", "2"), claim("d", "1"))
    assert spotter.found == "d/p/1"


@pytest.mark.parametrize("flags", [{"adminAccess": True}, {"shareID": "s"}])
def test_what_is_meant_to_be_shared_is_nothing(flags: dict[str, object]) -> None:
    spotter = goals.DoubleAllocationSpotter()
    spotter.on_add(claim("a", "1"), initial=False)
    spotter.on_add(claim("b", "1", **flags), initial=False)
    assert spotter.found is None


@pytest.mark.parametrize(("defects", "pools", "expected"), cases.read(__file__, "spotters"))
def test_where_a_defect_shows_otherwise_the_record_is_looked_at(
    tmp_path: pathlib.Path, defects: list[str], pools: dict[str, Any], expected: list[str]
) -> None:
    plan = msgspec.structs.replace(building.plan(), defects=defects, until_found=True)
    plan.settings["pools"] = pools
    made = goals.spotters(plan, directories.RunDirectory(tmp_path))
    assert [type(item).__name__ for item in made] == expected


UNSEEN = {"claim_progress", "leftover_preparations", "resource_leaks", "device_exclusivity"}
"""Checks of the end, and one with a spotter of its own."""
RECORDS = sorted(path.parent for path in GOLDEN.glob("*/*/plan.json"))


@pytest.mark.parametrize("record", RECORDS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_violation_is_found_in_the_second_look(
    monkeypatch: pytest.MonkeyPatch, record: pathlib.Path
) -> None:
    monkeypatch.setattr(goals, "LOOK_S", 0)
    monkeypatch.setattr(goals, "LOOK_SHARE", 0)
    spotter = goals.RecordSpotter(directories.RunDirectory(record))
    assert spotter.found is None
    is_seen = record.name.startswith("INVALID") and record.parent.name not in UNSEEN
    assert (spotter.found is not None) is is_seen


def test_between_two_looks_there_is_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    looks: list[object] = []

    def look(*_: object, **__: object) -> list[verdicts.Violation]:
        looks.append(None)
        return []

    monkeypatch.setattr(judging, "violations_so_far", look)
    spotter = goals.RecordSpotter(directories.RunDirectory(tmp_path))
    assert [spotter.found for _ in range(100)] == [None] * 100
    assert len(looks) == 1
