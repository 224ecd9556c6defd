"""A remedy for H1: a claim whose write got no answer stays in flight until its fate is known."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness import clocks
from harness.client import apis, informers
from harness.subject import assembling
from harness.subject.objects import claims
from harness.subject.plugin import claim_binding, scheduling_attempts
from harness.subject.remedies import settled_claims
from tests.support import api_objects, local_servers
from tests.support.plugin_world import ExtendedWorld, World

Object = dict[str, Any]
Steps = list[tuple[str, dict[str, object]]]
A = api_objects.device_id("a")
MAIN, STATUS = "resourceclaims/c", "resourceclaims/c/status"


@pytest.fixture
def world(
    server: local_servers.LocalServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ExtendedWorld]:
    monkeypatch.setattr(settled_claims, "BACKOFF_FIRST_S", 0.001)
    monkeypatch.setattr(claim_binding, "CONFLICT_WAIT_S", 0.0)
    world = ExtendedWorld(server, assembling.parts((), ["keep-in-flight-until-known"]))
    yield world
    world.plugin.stop()


def fail_to_bind(world: World, pod: Object | None = None) -> scheduling_attempts.Attempt:
    attempt = world.reserved(pod or world.pod())
    world.fail_to_bind(attempt)
    return attempt


def settle(world: World) -> None:
    """Start the settling thread, and wait until the pods of a claim are retried."""
    world.plugin.start()
    wait(lambda: world.activated)
    assert world.activated == ["default/c"]


def wait(condition: Callable[[], object]) -> None:
    clocks.wait_until(condition, timeout_s=30, why="the remedy to act", interval_s=0.001)


def fields(steps: Steps, name: str) -> list[dict[str, object]]:
    return [fields for taken, fields in steps if taken == name]


def test_a_claim_that_the_informer_has_not_delivered_stays(world: World, steps: Steps) -> None:
    """Such is a claim that the scheduler has just created for extended resources."""
    world.claim("c")
    world.server.lose_answer("PUT", STATUS)
    fail_to_bind(world)
    world.cache.on_delete(world.stored())
    world.plugin.start()
    wait(lambda: fields(steps, "remedy.postponed"))
    assert [claims.uid_of(claim) for claim in world.flight.listed()] == [
        claims.uid_of(world.stored())
    ]
    world.cache.on_add(world.stored(), initial=False)
    wait(lambda: world.activated)
    assert world.flight.listed() == []
    assert world.gatherer.gather().devices == {A}


@pytest.mark.parametrize("status", [500, 503, 504])
def test_a_write_that_may_be_under_way_is_fenced(world: World, steps: Steps, status: int) -> None:
    world.claim("c")
    world.server.refuse("PUT", STATUS, status=status)
    attempt = fail_to_bind(world)
    late = claims.with_status(world.stored(), allocation=attempt.planned[0])
    assert world.gatherer.gather().devices == {A}
    settle(world)
    with pytest.raises(apis.ApiError, match="the object has been modified"):
        world.api.update_status(apis.CLAIMS, late)
    assert world.gatherer.gather().devices == set()
    assert not claims.has_finalizer(world.stored())
    assert world.cache.get("default/c") == world.stored()
    assert len(fields(steps, "remedy.fenced")) == 1


@pytest.mark.parametrize("status", [403, 409, 422, 429])
def test_a_refusal_is_a_known_outcome(world: World, status: int) -> None:
    world.claim("c")
    world.server.refuse("PUT", STATUS, status=status, times=claim_binding.CONFLICT_TRIES)
    fail_to_bind(world)
    assert world.flight.listed() == []


def test_a_server_that_is_away_is_waited_for(world: World, steps: Steps) -> None:
    world.claim("c")
    world.server.lose_answer("PUT", STATUS)
    world.server.refuse("GET", MAIN, status=503, times=5)
    fail_to_bind(world)
    settle(world)
    assert len(fields(steps, "remedy.postponed")) == 5
    assert world.gatherer.gather().devices == {A}


def test_a_conflict_of_the_fence_is_read_again(world: World) -> None:
    world.claim("c")
    world.server.refuse("PUT", STATUS, status=504)
    fail_to_bind(world)

    def touch() -> None:
        patch = {"metadata": {"labels": {"changed": "yes"}}}
        world.api.patch(apis.CLAIMS, "c", patch, namespace="default")

    world.server.before("PUT", MAIN, touch)
    settle(world)
    assert world.stored()["metadata"]["labels"] == {"changed": "yes"}
    assert world.gatherer.gather().devices == set()


def delete(world: World) -> Object:
    """Delete the claim; return it as its deletion is delivered, in a version of its own."""
    patch = {"metadata": {"finalizers": None}}
    last = world.api.patch(apis.CLAIMS, "c", patch, namespace="default")
    world.api.delete(apis.CLAIMS, "c", namespace="default")
    version = int(last["metadata"]["resourceVersion"]) + 1
    return claims.with_metadata(last, resourceVersion=str(version))


def require_in_flight(world: World, steps: Steps) -> None:
    """Require that the claim is still in flight after one more try to settle it."""
    tries = len(fields(steps, "remedy.postponed"))
    wait(lambda: len(fields(steps, "remedy.postponed")) > tries + 1)
    assert len(world.flight.listed()) == 1
    assert world.gatherer.gather().devices == {A}


def test_a_deleted_claim_leaves_when_its_deletion_is_delivered(world: World, steps: Steps) -> None:
    world.claim("c")
    world.server.refuse("PUT", STATUS, status=504)
    fail_to_bind(world)
    last = delete(world)
    another = world.api.create(apis.CLAIMS, api_objects.claim("c"), namespace="default")
    world.plugin.start()
    require_in_flight(world, steps)
    world.cache.on_delete(last)
    world.cache.on_add(another, initial=False)
    wait(lambda: world.activated)
    assert world.flight.listed() == []
    assert fields(steps, "remedy.settled")[0]["fate"] == "gone"
    assert world.cache.get("default/c") == another


@pytest.fixture
def informer(world: ExtendedWorld) -> Iterator[informers.Informer]:
    """The informer of the claims, which fills the assume cache."""
    informer = informers.Informer(world.api, apis.CLAIMS, name="claims", handlers=[world.cache])
    informer.start()
    informer.wait_synced(timeout_s=30)
    yield informer
    world.server.close()
    informer.stop()


@pytest.mark.usefixtures("informer")
def test_a_deleted_claim_of_which_no_event_has_come_stays(
    world: ExtendedWorld, steps: Steps
) -> None:
    """Its late events take away its device, also from a claim that has got it meanwhile.

    The scheduler creates the claim for extended resources, and Unreserve deletes it.
    """
    world.server.hold_watches("resourceclaims")
    world.server.lose_answer("PUT", "/status")
    fail_to_bind(world, world.wanting())
    assert world.created() == []
    world.plugin.start()
    require_in_flight(world, steps)
    world.server.release_watches("resourceclaims")
    wait(lambda: world.activated)
    removed = [name for name, _ in steps if name.endswith(".removed")]
    planned = "in-flight.removed"  # with the UID that it has in memory
    assert removed == [planned, "allocated-devices.removed", "in-flight.removed"]
    assert world.flight.listed() == []
    assert world.gatherer.gather().devices == set()


def test_one_that_cannot_be_settled_does_not_hold_up_the_others(world: World) -> None:
    for name in ("c", "d"):
        world.claim(name)
        world.server.lose_answer("PUT", f"resourceclaims/{name}/status")
    world.server.refuse("GET", MAIN, status=403, times=10**6)
    for name in ("c", "d"):
        fail_to_bind(world, world.pod(f"of-{name}", name))
    world.plugin.start()
    wait(lambda: world.activated)
    assert world.activated == ["default/d"]
    (left,) = world.flight.listed()
    assert left["metadata"]["name"] == "c"


def test_another_pod_s_failure_does_not_release_it(world: World) -> None:
    """The informer has delivered the allocation, so that a second pod of the claim may bind too."""
    world.claim("c")
    world.server.lose_answer("PUT", STATUS)
    fail_to_bind(world)
    world.see()
    world.server.refuse("PUT", STATUS, status=403)
    fail_to_bind(world, world.pod("q"))
    assert len(world.flight.listed()) == 1
    settle(world)
    assert world.flight.listed() == []


def test_stopping_ends_the_thread_although_the_server_is_away(world: World) -> None:
    world.claim("c")
    world.server.lose_answer("PUT", STATUS)
    world.server.refuse("GET", MAIN, status=503, times=10**6)
    fail_to_bind(world)
    world.plugin.start()
    wait(lambda: world.server.count(f"GET /apis/resource.k8s.io/v1/namespaces/default/{MAIN}") > 1)
    world.plugin.stop()
    assert len(world.flight.listed()) == 1
