"""Counting pods while the run goes on."""

import pytest

from harness import concurrency
from harness.run import goals
from harness.scenario import loading, traffic_specs
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
    assert (counter.present, counter.running) == (0, 0)
    assert counter.ran == 1


def test_so_many_pods_mean_that_the_load_was_there() -> None:
    """Every claim is shared by some pods; a device counts as used again from its second claim
    on.
    """
    churn = loading.load("pod-churn").scenario
    devices = churn.pools.nodes * churn.pools.devices_per_node
    assert goals.pods_for_load(churn) == max(
        churn.load.pods_running_min, churn.load.allocations_min, churn.load.reuse_min + devices
    )
    shared = loading.load("shared-claims").scenario
    assert isinstance(shared.traffic, traffic_specs.SharedTraffic)
    least = shared.load.allocations_min * shared.traffic.pods_per_claim
    assert goals.pods_for_load(shared) >= max(least, shared.load.pods_running_min)


def test_a_pod_with_several_claims_counts_for_all_of_them_and_devices_only_for_reuse() -> None:
    annotated = loading.load("template-annotated").scenario
    assert isinstance(annotated.traffic, traffic_specs.ChurnTraffic)
    assert annotated.traffic.claims_per_pod == 2
    assert annotated.load.reuse_min == 0
    assert goals.pods_for_load(annotated) == max(
        annotated.load.pods_running_min, annotated.load.allocations_min // 2
    )


@pytest.mark.parametrize(("at_s", "ran", "is_up"), cases.read(__file__, "slow_loads"))
def test_a_slow_load_gets_more_time_if_it_reaches_its_goal_then(
    at_s: float, ran: int, is_up: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 100.0
    monkeypatch.setattr(concurrency, "monotonic_s", lambda: now_s)
    time = goals.LoadTime(10.0)
    assert not time.is_up(1, 100)
    now_s += at_s
    assert time.is_up(ran, 100) is is_up


@pytest.mark.parametrize(("ran", "is_up"), [(39, True), (41, False)])
def test_a_slow_start_is_not_taken_for_a_slow_load(
    ran: int, is_up: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first pod runs after 5 s; 6 s later, 9 s are left."""
    now_s = 100.0
    monkeypatch.setattr(concurrency, "monotonic_s", lambda: now_s)
    time = goals.LoadTime(10.0)
    assert not time.is_up(0, 100)
    now_s += 5
    assert not time.is_up(1, 100)
    now_s += 6
    assert time.is_up(ran, 100) is is_up
