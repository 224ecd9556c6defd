"""Simpler pools: kinds, changes and their sizes, one after the other."""

import pytest

from harness.reproduction.search import pool_axes
from harness.scenario import loading, specs


def shipped(name: str) -> specs.Scenario:
    return loading.load(name).scenario


def test_kinds_of_claims_go_before_the_pools_that_they_request() -> None:
    scenario = shipped("driver-network")
    found = dict(pool_axes.without(scenario))
    kinds = [f"pools {kind.name}" for kind in scenario.pools.more]
    assert set(kinds) <= set(found)
    smaller = [name for name, candidate in found.items() if candidate is not None]
    assert smaller, "something can be left out"
    for name in smaller:
        candidate = found[name]
        assert candidate is not None
        before = (len(scenario.pools.more), len(scenario.claims), len(scenario.pools.changes))
        after = (len(candidate.pools.more), len(candidate.claims), len(candidate.pools.changes))
        assert sum(after) == sum(before) - 1


def test_pools_that_claims_request_stay() -> None:
    scenario = shipped("partitions")
    requested = {
        request.pool for claim in scenario.claim_kinds for request in claim.requests if request.pool
    }
    found = dict(pool_axes.without(scenario))
    assert requested
    assert all(found[f"pools {name}"] is None for name in requested)


def test_each_change_can_go_the_last_one_first() -> None:
    scenario = shipped("pools-change")
    found = [
        (name, candidate)
        for name, candidate in pool_axes.without(scenario)
        if name.startswith("pool change ")
    ]
    count = len(scenario.pools.changes)
    assert [name.split()[2] for name, _ in found] == [str(n) for n in range(count, 0, -1)]
    kept = [candidate.pools.changes for _, candidate in found if candidate is not None]
    assert [len(changes) for changes in kept] == [count - 1] * count
    assert kept[0] == scenario.pools.changes[:-1]


@pytest.mark.parametrize("name", ["pools-change", "taints-come-and-go", "capacities"])
def test_sizes_of_pools_and_changes_can_be_smaller(name: str) -> None:
    axes = list(pool_axes.axes(shipped(name)))
    assert axes
    for axis in axes:
        assert axis.value > axis.least
        smallest = axis.resized(axis.least)
        again = {item.name: item.value for item in pool_axes.axes(smallest)}
        assert axis.name not in again


def test_a_scenario_without_further_pools_has_none() -> None:
    scenario = shipped("pod-churn")
    assert list(pool_axes.axes(scenario)) == []
    assert list(pool_axes.without(scenario)) == []
