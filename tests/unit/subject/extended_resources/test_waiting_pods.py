"""Pods that wait for an extended resource, with the whole scheduler and its threads."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness import clocks, concurrency
from harness.client import apis
from harness.subject.extended_resources import extended_claims
from harness.subject.scheduling import schedulers
from tests.support import api_objects, local_servers

Object = dict[str, Any]
GPU = "example.com/gpu"
TIMEOUT_S = 30.0


class World:
    """A server with two nodes, and a scheduler."""

    def __init__(self, server: local_servers.LocalServer) -> None:
        self.server, self.api = server, apis.Api(server)
        self.put(apis.NODES, api_objects.node("worker-0"))
        self.put(apis.SLICES, api_objects.slice_of("a"))
        options = schedulers.SchedulerOptions(backoff_initial_s=0.001, backoff_max_s=0.002)
        self.scheduler = schedulers.Scheduler(self.api, options)

    def put(self, resource: apis.Resource, obj: Object) -> Object:
        return local_servers.put(self.server, resource, obj)

    def add_class(self) -> None:
        made = api_objects.device_class()
        made["spec"]["extendedResourceName"] = GPU
        self.put(apis.DEVICE_CLASSES, made)

    def add_pod(self, name: str) -> Object:
        made = api_objects.pod(name)
        made["spec"]["containers"][0]["resources"] = {"limits": {GPU: "1"}}
        return self.put(apis.PODS, made)

    def node_of(self, name: str) -> str | None:
        found = self.api.get(apis.PODS, name, namespace="default")
        node: str | None = found["spec"].get("nodeName")
        return node

    def wait(self, condition: Callable[[], object], why: str) -> None:
        clocks.wait_until(condition, timeout_s=TIMEOUT_S, why=why, interval_s=0.002)

    def wait_bound(self, name: str) -> None:
        self.wait(lambda: self.node_of(name), f"{name} to be bound")


@pytest.fixture
def refused() -> Iterator[list[str]]:
    """The reasons for which pods could not be scheduled."""
    reasons: list[str] = []
    concurrency.listen(
        lambda name, fields: (
            reasons.append(fields["reason"]) if name == "scheduling.unschedulable" else None
        )
    )
    yield reasons
    concurrency.listen(None)


@pytest.fixture
def world(server: local_servers.LocalServer) -> Iterator[World]:
    world = World(server)
    yield world
    world.scheduler.stop()


def test_a_pod_waits_for_the_class_that_backs_its_resource(
    world: World, refused: list[str]
) -> None:
    world.scheduler.start()
    world.add_pod("p")
    world.wait(lambda: refused, "the pod to be refused")
    assert refused[0] == (
        f"0/1 nodes are available: 1 Insufficient {GPU}. still not schedulable, "
        "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    )
    world.add_class()
    world.wait_bound("p")


def test_a_pod_is_bound_once_the_claim_of_an_earlier_scheduler_is_gone(world: World) -> None:
    world.add_class()
    pod = world.add_pod("p")
    left = extended_claims.with_requests(extended_claims.in_memory(pod), [api_objects.exactly()])
    before = extended_claims.create(world.api, left)
    world.scheduler.start()
    world.wait_bound("p")
    (claim,) = world.api.list(apis.CLAIMS, namespace="default").items
    assert claim["metadata"]["uid"] != before["metadata"]["uid"]
