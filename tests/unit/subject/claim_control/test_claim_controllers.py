"""The claim controller with its own threads, against the real store."""

from collections.abc import Iterator
from typing import Any

import pytest

from harness.client import apis
from harness.subject.objects import claims
from tests.support import api_objects, controller_worlds, local_servers

Object = dict[str, Any]
World = controller_worlds.World
STATUS = "/status"


@pytest.fixture
def world(server: local_servers.LocalServer) -> Iterator[World]:
    with controller_worlds.running(server) as world:
        yield world


# -------------------------------------------------------------------- claims of templates


def test_a_claim_is_made_for_each_template_and_recorded_in_one_write(world: World) -> None:
    wanted = {"labels": {"l": "1"}, "annotations": {"a": "2"}}
    for name in ("x", "y"):
        world.put(apis.CLAIM_TEMPLATES, api_objects.template(name, metadata=wanted))
    pod = world.put(apis.PODS, api_objects.pod("p", templates=["x", "y"]))
    world.start()
    recorded = world.wait_recorded()
    assert {item["metadata"]["name"] for item in world.claims()} == set(recorded.values())
    assert world.server.count("PATCH") == 1
    claim = world.claim(str(recorded["x"]))
    assert claim is not None
    meta = claim["metadata"]
    assert meta["name"].startswith("p-x-")
    assert meta["labels"] == {"l": "1"}
    assert meta["annotations"] == {"a": "2", claims.POD_CLAIM_NAME: "x"}
    assert claims.is_for(claim, pod)
    assert meta["ownerReferences"][0]["controller"] is True
    assert claim["spec"]["devices"]["requests"][0]["name"] == "r"


def test_a_template_that_comes_later_is_waited_for(world: World) -> None:
    world.start()
    world.put(apis.PODS, api_objects.pod("p", templates=["x"]))
    world.wait(lambda: world.server.count("GET /api/v1/pods"), "the pods to be listed")
    assert world.claims() == []
    world.put(apis.CLAIM_TEMPLATES, api_objects.template("x"))
    world.wait_recorded()


@pytest.mark.parametrize("disturb", ["refuse", "lose"])
def test_a_claim_that_could_not_be_recorded_is_found_again_though_the_watch_is_behind(
    world: World, disturb: str
) -> None:
    world.put(apis.CLAIM_TEMPLATES, api_objects.template("x"))
    world.put(apis.PODS, api_objects.pod("p", templates=["x"]))
    world.server.hold_watches("resourceclaims")
    if disturb == "refuse":
        world.server.refuse("PATCH", "/pods/p/status", status=500, times=3)
    else:
        world.server.lose_answer("PATCH", "/pods/p/status", times=3)
    world.start()
    recorded = world.wait_recorded()
    assert [item["metadata"]["name"] for item in world.claims()] == list(recorded.values())
    world.server.release_watches("resourceclaims")
    world.settle()
    assert len(world.claims()) == 2  # the other one is of settle()


def test_a_recorded_claim_that_is_gone_is_made_again(world: World) -> None:
    world.put(apis.CLAIM_TEMPLATES, api_objects.template("x"))
    world.put(apis.PODS, api_objects.pod("p", templates=["x"]))
    world.start()
    first = world.wait_recorded()["x"]
    world.api.delete(apis.CLAIMS, str(first), namespace="default")
    world.wait(lambda: claims.recorded_names(world.pod())["x"] != first, "another claim")


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_is_done_gets_no_claim(world: World, phase: str) -> None:
    world.put(apis.CLAIM_TEMPLATES, api_objects.template("x"))
    world.put(apis.PODS, api_objects.pod("p", templates=["x"], phase=phase))
    world.start()
    world.settle()
    assert claims.recorded_names(world.pod()) == {}
    assert len(world.claims()) == 1


# --------------------------------------------------------------------------- reservations


def test_a_pod_that_is_gone_frees_its_claim(world: World) -> None:
    pod = world.put(apis.PODS, api_objects.pod("p", use=["c"]))
    world.allocated("c", pod)
    world.start()
    world.settle()
    assert world.reserved_for() == ["p"]
    world.api.delete(apis.PODS, "p", namespace="default", grace_period_s=0)
    world.wait(lambda: not claims.has_finalizer(world.claim() or {"metadata": {}}), "its freedom")
    claim = world.claim()
    assert claim is not None
    assert claims.allocation_of(claim) is None
    assert claims.reservations_of(claim) == []


def test_a_generated_claim_goes_with_its_pod(world: World) -> None:
    world.put(apis.CLAIM_TEMPLATES, api_objects.template("x"))
    pod = world.put(apis.PODS, api_objects.pod("p", templates=["x"]))
    world.start()
    name = str(world.wait_recorded()["x"])
    claim = world.claim(name)
    assert claim is not None
    claim = world.api.update(apis.CLAIMS, api_objects.protected(claim))
    allocated = claims.with_status(claim, allocation=api_objects.allocation("a"))
    world.api.update_status(apis.CLAIMS, claims.with_reservation(allocated, pod))
    world.api.delete(apis.PODS, "p", namespace="default", grace_period_s=0)
    world.wait(lambda: world.claim(name) is None, "the claim to be gone")


def test_a_pod_that_succeeded_frees_its_claims_and_a_generated_one_is_deleted(
    world: World,
) -> None:
    world.put(apis.CLAIM_TEMPLATES, api_objects.template("x"))
    world.put(apis.PODS, api_objects.pod("p", use=["c"], templates=["x"], node="worker-0"))
    world.allocated("c", world.pod())
    world.start()
    name = str(world.wait_recorded()["x"])
    done = {**world.pod()}
    done["status"] = {**done["status"], "phase": "Succeeded"}
    world.api.update_status(apis.PODS, done)
    world.wait(lambda: world.claim(name) is None, "the generated claim to be gone")
    world.wait(lambda: not claims.has_finalizer(world.claim() or {"metadata": {}}), "freedom")
    assert world.reserved_for() == []


def test_others_keep_the_claim_that_they_share_with_a_gone_pod(world: World) -> None:
    users = [world.put(apis.PODS, api_objects.pod(name, use=["c"])) for name in ("p", "q")]
    world.allocated("c", *users)
    world.start()
    world.api.delete(apis.PODS, "p", namespace="default", grace_period_s=0)
    world.wait(lambda: world.reserved_for() == ["q"], "one reservation")
    claim = world.claim()
    assert claim is not None
    assert claims.allocation_of(claim) is not None
    assert claims.has_finalizer(claim)


def test_a_pod_that_was_replaced_loses_its_reservation(world: World) -> None:
    old = world.put(apis.PODS, api_objects.pod("p", use=["c"]))
    world.allocated("c", old)
    world.api.delete(apis.PODS, "p", namespace="default", grace_period_s=0)
    world.put(apis.PODS, api_objects.pod("p", use=["c"]))
    world.start()
    world.wait(lambda: world.reserved_for() == [], "the reservation to be gone")


def test_a_pod_that_the_informer_does_not_know_yet_keeps_its_reservation(world: World) -> None:
    """The claim's event is quicker than the pod's: only the server can say that a pod is gone."""
    world.start()
    world.server.hold_watches("pods")
    pod = world.put(apis.PODS, api_objects.pod("p", use=["c"]))
    world.allocated("c", pod)
    world.wait(lambda: world.server.count("GET /api/v1/namespaces/default/pods/p"), "a live look")
    world.server.release_watches("pods")
    world.settle()
    assert world.reserved_for() == ["p"]


def test_a_reservation_of_something_else_is_not_ours(world: World) -> None:
    made = api_objects.claim("c", allocated=api_objects.allocation("a"))
    entry = {"apiGroup": "x.com", "resource": "things", "name": "t", "uid": "uid-t"}
    made = api_objects.protected(made)
    world.put(apis.CLAIMS, claims.with_status(made, reservedFor=[entry]))
    world.start()
    world.settle()
    assert world.reserved_for() == ["t"]


def test_a_conflict_is_tried_again(world: World) -> None:
    pod = world.put(apis.PODS, api_objects.pod("p", use=["c"]))
    world.allocated("c", pod)
    world.start()
    world.server.refuse("PUT", "resourceclaims/c/status", status=409, times=2)
    world.server.refuse("PUT", "resourceclaims/c", status=500)
    world.api.delete(apis.PODS, "p", namespace="default", grace_period_s=0)
    world.wait(lambda: world.reserved_for() == [], "the reservation to be gone")
    claim = world.claim()
    assert claim is not None
    assert claims.allocation_of(claim) is None


def test_a_lost_answer_may_leave_the_finalizer_until_the_claim_is_deleted(world: World) -> None:
    """As upstream: only the sync that frees the device removes the finalizer, or one of a deleted
    claim.
    """
    pod = world.put(apis.PODS, api_objects.pod("p", use=["c"]))
    world.allocated("c", pod)
    world.start()
    world.server.lose_answer("PUT", "resourceclaims/c/status")
    world.api.delete(apis.PODS, "p", namespace="default", grace_period_s=0)
    world.wait(lambda: world.reserved_for() == [], "the reservation to be gone")
    world.api.delete(apis.CLAIMS, "c", namespace="default")
    world.wait(lambda: world.claim() is None, "the claim to be gone")


def test_an_allocated_claim_that_was_never_reserved_stays(world: World) -> None:
    world.allocated("c")
    world.start()
    world.settle()
    claim = world.claim()
    assert claim is not None
    assert claims.allocation_of(claim) is not None


def test_a_deleted_claim_that_nobody_uses_is_let_go(world: World) -> None:
    world.allocated("c")
    world.api.delete(apis.CLAIMS, "c", namespace="default")
    assert world.claim() is not None
    world.start()
    world.wait(lambda: world.claim() is None, "the claim to be gone")


def test_a_deleted_claim_that_is_used_stays(world: World) -> None:
    pod = world.put(apis.PODS, api_objects.pod("p", use=["c"]))
    world.allocated("c", pod)
    world.api.delete(apis.CLAIMS, "c", namespace="default")
    world.start()
    world.settle()
    assert world.reserved_for() == ["p"]


def test_a_pod_that_was_bound_by_hand_gets_its_reservation(world: World) -> None:
    world.allocated("c")
    world.start()
    world.put(apis.PODS, api_objects.pod("p", use=["c"], node="worker-0"))
    world.wait(lambda: world.reserved_for() == ["p"], "the reservation")
