"""Features that the recorded cases of a real controller do not show, and known bad sequences."""

from collections.abc import Iterator

import pytest

from harness.client import apis
from harness.subject.claim_control import controller_contexts
from harness.subject.objects import claims
from tests.support import api_objects, controller_worlds, local_servers

World = controller_worlds.World


@pytest.fixture
def world(server: local_servers.LocalServer) -> Iterator[World]:
    with controller_worlds.running(server) as world:
        yield world


def test_a_created_claim_is_found_before_the_informer_has_it(world: World) -> None:
    world.put(apis.CLAIM_TEMPLATES, api_objects.template("x"))
    world.put(apis.PODS, api_objects.pod("p", templates=["x"]))
    world.server.hold_watches("resourceclaims")
    world.server.refuse("PATCH", "/pods/p/status", status=500, times=3)
    world.start()
    recorded = world.wait_recorded()
    assert [item["metadata"]["name"] for item in world.claims()] == list(recorded.values())


# ----------------------------------------------------------------------------- bad sequences


def test_132334_a_claim_of_a_pod_that_ended_while_the_controller_was_down_is_cleaned_up(
    world: World,
) -> None:
    pod = world.put(apis.PODS, api_objects.pod("p", use=["c"]))
    world.allocated("c", pod)
    world.api.delete(apis.CLAIMS, "c", namespace="default")
    world.api.delete(apis.PODS, "p", namespace="default", grace_period_s=0)
    world.start()
    world.wait(lambda: world.claim() is None, "the claim to be gone")


def test_deleted_pods_without_claims_do_not_push_out_those_with_claims(world: World) -> None:
    world.put(apis.CLAIMS, api_objects.claim("c"))
    pod = world.put(apis.PODS, api_objects.pod("p", use=["c"]))
    world.start()
    deleted = world.controller._context.deleted_pods
    world.api.delete(apis.PODS, "p", namespace="default", grace_period_s=0)
    world.wait(lambda: claims.uid_of(pod) in deleted, "the deletion")
    for number in range(controller_contexts.DELETED_PODS_MAX + 1):
        world.controller._enqueuer.on_pod_deleted(api_objects.known_pod(f"plain-{number}"))
    assert claims.uid_of(pod) in deleted


def test_at_most_500_deleted_pods_are_remembered() -> None:
    deleted = controller_contexts.DeletedPods()
    for number in range(501):
        deleted.add(str(number))
    assert (len(deleted), "0" in deleted, "500" in deleted) == (500, False, True)


def test_a_claim_that_the_server_refuses_is_an_event(world: World) -> None:
    world.put(apis.CLAIM_TEMPLATES, api_objects.template("x"))
    world.put(apis.PODS, api_objects.pod("p", templates=["x"]))
    world.server.refuse("POST", "resourceclaims", status=500)
    world.start()
    world.wait_recorded()
    (event,) = world.events()
    assert event["message"] == "PodResourceClaim x: create ResourceClaim : no"
