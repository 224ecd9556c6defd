"""Pods that wait for an extended resource, with the whole scheduler and its threads."""

from collections.abc import Iterator
from typing import Any

import pytest

from harness.client import apis
from harness.subject.extended_resources import extended_claims
from tests.support import api_objects, local_servers, scheduler_worlds

Object = dict[str, Any]
GPU = "example.com/gpu"


class World(scheduler_worlds.World):
    """A class that backs the extended resource may come."""

    def add_class(self) -> None:
        made = {**api_objects.device_class(name="backing"), "spec": {"extendedResourceName": GPU}}
        self.put(apis.DEVICE_CLASSES, made)

    def add_asking(self, name: str) -> Object:
        made = api_objects.pod(name)
        made["spec"]["containers"][0]["resources"] = {"limits": {GPU: "1"}}
        return self.put(apis.PODS, made)


@pytest.fixture
def world(server: local_servers.LocalServer) -> Iterator[World]:
    world = World(server)
    yield world
    world.scheduler.stop()


def test_a_pod_waits_for_the_class_that_backs_its_resource(
    world: World, steps: list[tuple[str, dict[str, object]]]
) -> None:
    world.scheduler.start()
    world.add_asking("p")
    world.wait(lambda: "scheduling.unschedulable" in dict(steps), "the pod to be refused")
    assert dict(steps)["scheduling.unschedulable"]["reason"] == (
        f"0/1 nodes are available: 1 Insufficient {GPU}. still not schedulable, "
        "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    )
    world.add_class()
    world.wait_bound("p")


def test_a_pod_is_bound_once_the_claim_of_an_earlier_scheduler_is_gone(world: World) -> None:
    world.add_class()
    pod = world.add_asking("p")
    left = extended_claims.with_requests(extended_claims.in_memory(pod), [api_objects.exactly()])
    before = extended_claims.create(world.api, left)
    world.scheduler.start()
    world.wait_bound("p")
    (claim,) = world.api.list(apis.CLAIMS, namespace="default").items
    assert claim["metadata"]["uid"] != before["metadata"]["uid"]
