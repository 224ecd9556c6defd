"""Smaller scenarios are valid, keep devices scarce, and demand no more than they can give."""

import pytest

from harness.reproduction import smaller_scenarios
from harness.scenario import loading, possibility, specs, traffic_specs
from tests.unit.reproduction import scenarios

Axis = smaller_scenarios.Axis


def every_axis(scenario: specs.Scenario) -> list[Axis]:
    found = [*smaller_scenarios.axes(scenario), *smaller_scenarios.part_axes(scenario)]
    return [axis for axis in found if axis.value > axis.least]


def without(scenario: specs.Scenario) -> dict[str, specs.Scenario | None]:
    return {axis.name: axis.to(0) for axis in smaller_scenarios.without(scenario)}


def load_axis(scenario: specs.Scenario, name: str) -> Axis:
    return next(axis for axis in smaller_scenarios.axes(scenario) if axis.name == name)


@pytest.mark.parametrize("traffic", [None, scenarios.CHURN])
def test_the_least_of_every_axis_is_a_scenario_that_can_be_run(
    traffic: dict[str, object] | None,
) -> None:
    keys = {"traffic": traffic} if traffic else {}
    smaller = scenarios.scenario(**keys)
    for _ in range(20):
        axis = next(iter(every_axis(smaller)), None)
        if axis is None:
            break
        smaller = axis.resized(axis.least)
        assert list(possibility.objections(smaller)) == []
    assert every_axis(smaller) == []
    assert smaller.pools.nodes == smaller.pools.devices_per_node == 1


def test_fewer_devices_have_fewer_pods_so_that_they_stay_scarce() -> None:
    axis = load_axis(scenarios.scenario(), "devices per node")
    smaller = axis.resized(5)
    assert (smaller.pools.devices_per_node, smaller.traffic.pods) == (5, 20)
    assert (smaller.load.allocations_min, smaller.load.pods_running_min) == (10, 10)


def test_pods_that_all_had_a_device_may_wait_for_one_device() -> None:
    plain = {"profile": "all-at-once", "pods": 40, "users": 4}
    smaller = load_axis(scenarios.scenario(traffic=plain), "nodes").resized(1)
    smaller = load_axis(smaller, "devices per node").resized(1)
    assert (smaller.traffic.pods, smaller.traffic.overcommit) == (2, True)


def test_the_load_lasts_shorter() -> None:
    axis = load_axis(scenarios.scenario(traffic=scenarios.CHURN), "seconds of load")
    traffic = axis.resized(3.0).traffic
    assert isinstance(traffic, traffic_specs.ChurnTraffic)
    assert (traffic.duration_s, traffic.duration_max_s) == (3.0, 3.0)


def test_each_fault_can_go_and_the_others_keep_their_names() -> None:
    twice = [*scenarios.FAULTS, scenarios.FAULTS[1]]
    found = without(scenarios.scenario(faults=twice))
    assert set(found) == {"lost", "delay-events", "delay-events-2"}
    first_gone = found["delay-events"]
    assert first_gone is not None
    assert [fault.name for fault in first_gone.faults] == ["lost", "delay-events-2"]


def test_a_fault_after_which_another_one_begins_stays() -> None:
    after = {**scenarios.FAULTS[1], "start_after": {"fault": "lost"}}
    scenario = scenarios.scenario(faults=[scenarios.FAULTS[0], after])
    found = without(scenario)
    assert found["lost"] is None
    assert found["delay-events"] is not None


def test_times_and_seconds_of_faults() -> None:
    found = {axis.name: axis for axis in smaller_scenarios.part_axes(scenarios.scenario())}
    assert set(found) == {"times of lost", "seconds of delay-events"}
    assert getattr(found["times of lost"].resized(1).faults[0], "times", None) == 1


def test_conditions_of_faults_can_go() -> None:
    picky = {**scenarios.FAULTS[0], "skip": 3, "probability": 0.5}
    found = [*smaller_scenarios.plainer(scenarios.scenario(faults=[picky]))]
    assert [axis.name for axis in found] == ["skip of lost", "probability of lost"]
    assert getattr(found[0].resized(0).faults[0], "skip", None) == 0


@pytest.mark.parametrize(
    "name", ["partitions", "capacities", "driver-network", "driver-limits", "admin-access"]
)
def test_every_axis_of_a_shipped_scenario_leads_to_one_that_can_be_run(name: str) -> None:
    scenario = loading.load(name).scenario
    for axis in smaller_scenarios.axes(scenario):
        if axis.value > axis.least:
            assert list(possibility.objections(axis.resized(axis.least))) == [], axis.name


@pytest.mark.parametrize("name", ["pools-change", "taints-come-and-go", "capacities"])
def test_sizes_of_pools_and_changes_can_be_smaller(name: str) -> None:
    found = [
        axis
        for axis in smaller_scenarios.part_axes(loading.load(name).scenario)
        if axis.value > axis.least
    ]
    assert found
    for axis in found:
        again = {
            one.name: one.value for one in smaller_scenarios.part_axes(axis.resized(axis.least))
        }
        assert again[axis.name] == axis.least


def test_pools_that_claims_request_stay() -> None:
    scenario = loading.load("partitions").scenario
    requested = {
        request.pool for claim in scenario.claim_kinds for request in claim.requests if request.pool
    }
    found = without(scenario)
    assert requested
    assert all(found[f"pools {name}"] is None for name in requested)
