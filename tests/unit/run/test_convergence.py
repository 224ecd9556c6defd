"""When a run is at rest: nothing can go on, and no claim has changed for a while."""

from typing import Any

import pytest

from harness import clocks
from harness.checks.progress import world_states
from harness.run import convergence
from tests.histories import worlds


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
def watch(clock: Clock) -> convergence.Convergence:
    watch = convergence.Convergence(worlds.plan())
    handle(watch, world_states.SLICES).on_add(worlds.devices_of("n", 2), initial=True)
    return watch


def handle(watch: convergence.Convergence, resource: str) -> Any:
    return watch.handler(resource)


def test_a_waiting_pod_is_pending_until_it_runs(
    watch: convergence.Convergence, clock: Clock
) -> None:
    waiting, claim = worlds.pod("p", claim="a"), worlds.claim("a")
    handle(watch, world_states.CLAIMS).on_add(claim, initial=False)
    handle(watch, world_states.PODS).on_add(waiting, initial=False)
    clock.s += 60
    assert (watch.pending, watch.is_at_rest()) == (1, False)
    held = worlds.claim("a", worlds.device("n", 0), users=["p"])
    handle(watch, world_states.CLAIMS).on_update(claim, held)
    running = worlds.pod("p", claim="a", phase="Running", node="n")
    handle(watch, world_states.PODS).on_update(waiting, running)
    assert (watch.pending, watch.is_at_rest()) == (0, False)
    clock.s += convergence.QUIET_S
    assert watch.is_at_rest()


def test_a_leak_is_pending_until_the_claim_is_gone(
    watch: convergence.Convergence, clock: Clock
) -> None:
    claim = worlds.claim("a", worlds.device("n", 0), users=["gone"])
    handle(watch, world_states.CLAIMS).on_add(claim, initial=False)
    assert watch.pending == 1
    handle(watch, world_states.CLAIMS).on_delete(claim)
    assert watch.pending == 0
    clock.s += convergence.QUIET_S
    assert watch.is_at_rest()


def test_doubts_are_pending_too(watch: convergence.Convergence) -> None:
    claim = worlds.claim("a", allocationMode="All")
    handle(watch, world_states.CLAIMS).on_add(claim, initial=False)
    handle(watch, world_states.PODS).on_add(worlds.pod("p", claim="a"), initial=False)
    assert watch.pending == 1


def test_the_time_without_progress(watch: convergence.Convergence, clock: Clock) -> None:
    clock.s += 5
    assert watch.still_s(0) == pytest.approx(5)
    assert watch.still_s(int((clock.s - 2) * 1e9)) == pytest.approx(2)
    handle(watch, world_states.CLAIMS).on_add(worlds.claim("c", owner="p"), initial=False)
    assert watch.still_s(0) == pytest.approx(5), "a generated claim is no progress"
    handle(watch, world_states.PODS).on_add(worlds.pod("p"), initial=False)
    assert watch.still_s(0) == 0
