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


def test_a_failed_creation_is_one_event(world: World) -> None:
    world.put(apis.PODS, api_objects.pod("p", templates=["x"]))
    world.start()
    world.wait(world.events, "an event")
    world.settle()
    (event,) = world.events()
    assert event["reason"] == "FailedResourceClaimCreation"
    assert event["involvedObject"]["uid"] == claims.uid_of(world.pod())
    assert event["message"] == (
        'PodResourceClaim x: resource claim template "x": '
        'resourceclaimtemplate.resource.k8s.io "x" not found'
    )


def test_events_without_work_cause_no_request(world: World) -> None:
    world.put(apis.CLAIM_TEMPLATES, api_objects.template("x"))
    world.put(apis.PODS, api_objects.pod("p", templates=["x"]))
    world.put(apis.PODS, api_objects.pod("plain"))
    world.start()
    world.wait_recorded()
    world.settle()
    before = world.server.count("/pods/p/status")
    for name in ("p", "plain"):
        label = {"metadata": {"labels": {"touched": "1"}}}
        world.api.patch(apis.PODS, name, label, namespace="default")
    world.settle()
    assert world.server.count("/pods/p/status") == before
    assert world.server.count("/pods/plain/status") == 0


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


def test_an_entry_that_needs_no_claim_gets_none_when_another_entry_needs_one(world: World) -> None:
    for name in ("x", "y"):
        world.put(apis.CLAIM_TEMPLATES, api_objects.template(name))
    world.put(apis.PODS, api_objects.pod("p", templates=["x", "y"], recorded={"x": None}))
    world.start()
    world.wait(lambda: claims.recorded_names(world.pod()).get("y"), "the other claim")
    assert claims.recorded_names(world.pod())["x"] is None
    assert len(world.claims()) == 1


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
    assert len(deleted) == 500
    assert "0" not in deleted
    assert "500" in deleted


# ------------------------------------------------------------------ gates, events, metrics


def test_a_claim_that_the_server_refuses_is_an_event(world: World) -> None:
    world.put(apis.CLAIM_TEMPLATES, api_objects.template("x"))
    world.put(apis.PODS, api_objects.pod("p", templates=["x"]))
    world.server.refuse("POST", "resourceclaims", status=500)
    world.start()
    world.wait_recorded()
    (event,) = world.events()
    assert event["message"] == "PodResourceClaim x: create ResourceClaim : no"
