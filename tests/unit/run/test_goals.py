"""Counting pods, and spotting a device in two claims while the run goes on."""

from typing import Any

import pytest

from harness.client import apis, kubeconfigs, transports
from harness.run import goals
from harness.scenario import loading, traffic_specs

NOWHERE = apis.Api(
    transports.HttpTransport(kubeconfigs.Endpoint(host="127.0.0.1", port=1, tls=False))
)


def claim(uid: str, *devices: str, **flags: object) -> dict[str, Any]:
    results = [{"driver": "d", "pool": "p", "device": name, **flags} for name in devices]
    status = {"allocation": {"devices": {"results": results}}} if devices else {}
    return {"metadata": {"uid": uid}, "status": status}


@pytest.fixture
def spotter() -> goals.DoubleAllocationSpotter:
    return goals.DoubleAllocationSpotter(NOWHERE, namespace="default")


def test_a_device_in_two_claims_is_found(spotter: goals.DoubleAllocationSpotter) -> None:
    spotter.on_add(claim("a", "1"), initial=False)
    spotter.on_add(claim("b", "2"), initial=False)
    assert spotter.found is None
    spotter.on_update(claim("b", "2"), claim("b", "1"))
    assert spotter.found == "d/p/1"


def test_one_claim_after_the_other_is_nothing(spotter: goals.DoubleAllocationSpotter) -> None:
    spotter.on_add(claim("a", "1"), initial=False)
    spotter.on_update(claim("a", "1"), claim("a"))
    spotter.on_add(claim("b", "1"), initial=False)
    spotter.on_delete(claim("b", "1"))
    spotter.on_add(claim("c", "1"), initial=False)
    assert spotter.found is None


@pytest.mark.parametrize("flags", [{"adminAccess": True}, {"shareID": "s"}])
def test_what_is_meant_to_be_shared_is_nothing(
    spotter: goals.DoubleAllocationSpotter, flags: dict[str, object]
) -> None:
    spotter.on_add(claim("a", "1"), initial=False)
    spotter.on_add(claim("b", "1", **flags), initial=False)
    assert spotter.found is None


def test_pods_are_counted_once_and_forgotten_when_they_go() -> None:
    counter = goals.PodCounter(NOWHERE, namespace="default")
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
