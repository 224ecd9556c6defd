"""Nominated nodes of pods that have to wait until their devices are ready."""

import pytest

from harness.client import apis
from harness.subject.plugin import scheduling_attempts
from harness.subject.scheduling import binding_cycle
from tests.support import api_objects, local_servers
from tests.support.plugin_world import World

CONDITIONS = {
    "bindingConditions": ["dra.example/attached"],
    "bindingFailureConditions": ["dra.example/broken"],
}


@pytest.fixture
def world(server: local_servers.LocalServer) -> World:
    """One device has to be attached before it can be used, the other one not."""
    world = World(server)
    attachable = {**api_objects.device("a"), **CONDITIONS}
    world.inventory.on_update({}, api_objects.slice_of(attachable))
    return world


def attempt_of(world: World) -> scheduling_attempts.Attempt:
    world.claim("c")
    return world.reserved(world.pod())


def nominated(world: World, name: str = "p") -> str | None:
    pod = world.api.get(apis.PODS, name, namespace="default")
    node: str | None = (pod.get("status") or {}).get("nominatedNodeName")
    return node


def test_a_pod_that_will_wait_gets_its_node_before_anything_is_allocated(world: World) -> None:
    attempt = attempt_of(world)
    assert binding_cycle.Nominations(world.api).nominate(attempt, "worker-0")
    assert nominated(world) == "worker-0"
    assert "allocation" not in world.stored().get("status", {})


def test_a_second_pod_of_a_claim_that_is_not_ready_gets_its_node(world: World) -> None:
    allocated = api_objects.allocation("a")
    allocated["devices"]["results"][0] |= CONDITIONS
    world.claim("d", allocated=allocated)
    attempt = world.plugin.pre_filter(world.pod("q", "d"))
    assert binding_cycle.Nominations(world.api).nominate(attempt, "worker-0")
    assert nominated(world, "q") == "worker-0"


def test_a_pod_whose_devices_need_nothing_costs_no_write(
    server: local_servers.LocalServer,
) -> None:
    world = World(server)
    attempt = attempt_of(world)
    assert not binding_cycle.Nominations(world.api).nominate(attempt, "worker-0")
    assert nominated(world) is None


def test_the_node_of_a_pod_that_could_not_be_bound_is_removed(world: World) -> None:
    attempt = attempt_of(world)
    nominating = binding_cycle.Nominations(world.api)
    nominating.nominate(attempt, "worker-0")
    nominating.clear(attempt.pod)
    assert nominated(world) is None


def test_the_api_server_removes_the_node_of_a_bound_pod(world: World) -> None:
    attempt = attempt_of(world)
    binding_cycle.Nominations(world.api).nominate(attempt, "worker-0")
    world.api.bind(attempt.pod, "worker-0")
    assert nominated(world) is None


def test_another_pod_of_the_same_name_is_left_alone(
    world: World, steps: list[tuple[str, dict[str, object]]]
) -> None:
    attempt = attempt_of(world)
    attempt.pod["metadata"]["uid"] = "that-of-a-pod-that-is-gone"
    assert binding_cycle.Nominations(world.api).nominate(attempt, "worker-0")
    assert nominated(world) is None
    assert "nominate.failed" in [name for name, _ in steps]
