"""The plugin's way of a pod, against the real store: from pre-filter to what is left when binding
fails.
"""

from collections.abc import Callable
from typing import Any

import pytest

from harness import concurrency
from harness.client import apis, transports
from harness.subject.objects import claims
from harness.subject.plugin import claim_binding, scheduling_attempts
from tests.support import api_objects, local_servers
from tests.support.plugin_world import World

Object = dict[str, Any]
A = api_objects.device_id("a")


@pytest.fixture
def world(server: local_servers.LocalServer, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(claim_binding, "CONFLICT_WAIT_S", 0.0)
    return World(server)


def disturb(world: World, name: str = "c") -> Callable[[], object]:
    return lambda: world.api.patch(
        apis.CLAIMS,
        name,
        {"metadata": {"labels": {"changed": str(world.server.store.resource_version)}}},
        namespace="default",
    )


STATUS = "resourceclaims/c/status"
MAIN = "resourceclaims/c"


# ------------------------------------------------------------------------------- binding


def test_binding_writes_the_finalizer_and_then_allocation_and_reservation(world: World) -> None:
    world.claim("c")
    pod = world.pod()
    attempt = world.reserved(pod)
    world.plugin.pre_bind(attempt)
    stored = world.stored()
    assert claims.has_finalizer(stored)
    assert api_objects.chosen(stored) == api_objects.allocation("a")
    assert claims.is_reserved_for(stored, pod)
    assert [line for line in world.server.requests if line.startswith("PUT")] == [
        f"PUT /apis/resource.k8s.io/v1/namespaces/default/{MAIN}",
        f"PUT /apis/resource.k8s.io/v1/namespaces/default/{STATUS}",
    ]
    assert world.flight.listed() == []
    assert world.cache.get("default/c") == stored
    assert attempt.claims == [stored]
    assert world.gatherer.gather().devices == {A}


@pytest.mark.parametrize("path", [MAIN, STATUS])
def test_a_conflict_is_tried_again_with_the_newest_claim(world: World, path: str) -> None:
    world.claim("c")
    pod = world.pod()
    attempt = world.reserved(pod)
    world.server.before("PUT", path, disturb(world))
    world.plugin.pre_bind(attempt)
    stored = world.stored()
    assert "changed" in stored["metadata"]["labels"]
    assert claims.is_reserved_for(stored, pod)
    assert (world.flight.listed(), world.gatherer.gather().devices) == ([], {A})


def delete(world: World) -> None:
    world.api.delete(apis.CLAIMS, "c", namespace="default")


@pytest.mark.parametrize(
    ("disturb_server", "words"),
    [
        (
            lambda world: world.server.before(
                "PUT", STATUS, disturb(world), times=claim_binding.CONFLICT_TRIES
            ),
            "conflicts in a row",
        ),
        (lambda world: world.server.refuse("PUT", STATUS, status=500), "500"),
        (lambda world: world.server.lose_answer("PUT", MAIN), ""),
        (
            lambda world: world.server.before("PUT", MAIN, lambda: delete(world)),
            "got deleted in the meantime",
        ),
    ],
    ids=["conflicts", "refused", "lost", "deleted"],
)
def test_a_write_that_fails_leaves_nothing(
    world: World, disturb_server: Callable[[World], None], words: str
) -> None:
    """Not reserved, not in flight, not assumed, and the device is free."""
    world.claim("c", finalizers=["example.com/keep"])
    attempt = world.reserved(world.pod())
    disturb_server(world)
    assert words in str(world.fail_to_bind(attempt))
    assert claims.reservations_of(world.stored()) == []
    assert claims.allocation_of(world.stored()) is None
    world.see()
    assert world.flight.listed() == []
    assert world.cache.get("default/c") == world.stored()
    assert world.gatherer.gather().devices == set()


def test_a_claim_that_is_gone_leaves_nothing(world: World) -> None:
    claim = world.claim("c")
    attempt = world.reserved(world.pod())
    delete(world)
    error = world.fail_to_bind(attempt)
    assert isinstance(error, apis.ApiError)
    assert error.is_not_found
    world.cache.on_delete(claim)
    assert (world.flight.listed(), world.gatherer.gather().devices) == ([], set())


def test_a_claim_that_was_allocated_elsewhere_keeps_that_allocation(world: World) -> None:
    world.claim("c")
    attempt = world.reserved(world.pod())
    elsewhere = claims.with_status(world.stored(), allocation=api_objects.allocation("b"))
    world.api.update_status(apis.CLAIMS, elsewhere)
    assert "got allocated elsewhere in the meantime" in str(world.fail_to_bind(attempt))
    assert claims.allocation_of(world.stored()) == api_objects.allocation("b")
    assert claims.reservations_of(world.stored()) == []
    world.see()
    assert world.gatherer.gather().devices == {api_objects.device_id("b")}


def test_after_a_lost_answer_nothing_is_in_flight_and_the_write_is_found_again(
    world: World,
) -> None:
    """The server has the reservation, for this very pod: its next attempt has only to bind."""
    world.claim("c")
    pod = world.pod()
    attempt = world.reserved(pod)
    world.server.lose_answer("PUT", STATUS)
    assert isinstance(world.fail_to_bind(attempt), transports.TransportError)
    assert world.flight.listed() == []
    world.see()
    assert world.gatherer.gather().devices == {A}
    again = world.reserved(pod)
    assert again.to_allocate == []
    version = world.server.store.resource_version
    world.plugin.pre_bind(again)
    assert world.server.store.resource_version == version
    assert claims.is_reserved_for(world.stored(), pod)


def test_when_a_later_claim_fails_the_earlier_one_loses_its_reservation_and_keeps_its_device(
    world: World,
) -> None:
    world.claim("c")
    world.claim("d")
    attempt = world.reserved(world.pod("p", "c", "d"))
    assert world.gatherer.gather().devices == {A, api_objects.device_id("b")}
    world.server.refuse("PUT", "resourceclaims/d/status", status=503)
    world.fail_to_bind(attempt)
    assert claims.reservations_of(world.stored("c")) == []
    assert api_objects.chosen(world.stored("c")) == api_objects.allocation("a")
    assert claims.allocation_of(world.stored("d")) is None
    assert world.flight.listed() == []
    assert world.gatherer.gather().devices == {A}


def test_unreserve_after_a_failed_bind_frees_the_reservation(world: World) -> None:
    world.claim("c")
    pod, other = world.pod("p", "c"), world.pod("q", "c")
    attempt = world.reserved(pod)
    world.plugin.pre_bind(attempt)
    world.plugin.pre_bind(world.reserved(other))
    world.plugin.unreserve(attempt)
    assert [item["name"] for item in claims.reservations_of(world.stored())] == ["q"]


def test_unreserve_forgets_what_was_assumed_of_a_claim_in_flight(world: World) -> None:
    claim = world.claim("c")
    attempt = world.reserved(world.pod())
    world.cache.assume(claims.with_status(claim, allocation=attempt.planned[0]))
    assert world.allocated.get()[0].devices == {A}
    world.plugin.unreserve(attempt)
    assert world.cache.get("default/c") == claim
    assert world.gatherer.gather().devices == set()


def test_unreserve_does_not_touch_a_claim_that_was_born_again(
    world: World, steps: list[tuple[str, dict[str, object]]]
) -> None:
    world.claim("c")
    pod = world.pod()
    attempt = world.reserved(pod)
    world.plugin.pre_bind(attempt)
    freed = claims.with_status(world.stored(), allocation=None, reservedFor=None)
    freed = world.api.update_status(apis.CLAIMS, freed)
    world.api.update(apis.CLAIMS, claims.with_metadata(freed, finalizers=[]))
    world.api.delete(apis.CLAIMS, "c", namespace="default")
    reborn = api_objects.claim("c", allocated=api_objects.allocation("a"))
    local_servers.put(world.server, apis.CLAIMS, claims.with_reservation(reborn, pod))
    world.plugin.unreserve(attempt)
    assert claims.is_reserved_for(world.stored(), pod)
    assert "unreserve.failed" in [name for name, _ in steps]


def test_a_write_that_the_cache_already_knows_is_not_assumed_and_leaves_the_flight(
    world: World, steps: list[tuple[str, dict[str, object]]]
) -> None:
    """The claim was changed again, and the watch was quicker than the answer."""
    world.claim("c")
    attempt = world.reserved(world.pod())

    def overtake(name: str, fields: Any) -> None:
        steps.append((name, dict(fields)))
        if name == "pre-bind.written":
            disturb(world)()
            world.see()

    concurrency.listen(overtake)
    world.plugin.pre_bind(attempt)
    assert "pre-bind.not-assumed" in [name for name, _ in steps]
    assert (world.flight.listed(), world.gatherer.gather().devices) == ([], {A})


# ---------------------------------------------------------------------------- pre-filter


def test_a_claim_that_is_being_deleted_gates_the_pod(world: World) -> None:
    world.claim("c", finalizers=["example.com/keep"])
    world.api.delete(apis.CLAIMS, "c", namespace="default")
    world.see()
    pod = world.pod()
    assert world.plugin.pre_enqueue(pod) is not None
    with pytest.raises(scheduling_attempts.Unschedulable, match="is being deleted"):
        world.plugin.pre_filter(pod)


# ------------------------------------------------------------------ filter and post-filter


def misplaced(world: World, *names: str) -> scheduling_attempts.Attempt:
    """An attempt for claims that are allocated on another node."""
    for name, device in zip(names, "ab", strict=False):
        made = api_objects.allocation(device, node="worker-9")
        local_servers.put(world.server, apis.CLAIMS, api_objects.claim(name, allocated=made))
        world.cache.on_add(world.stored(name), initial=False)
    attempt = world.plugin.pre_filter(world.pod("p", *names))
    assert world.plugin.filter(attempt, api_objects.node()) is None
    return attempt


def test_a_deallocation_that_is_based_on_an_old_claim_fails(world: World) -> None:
    attempt = misplaced(world, "c")
    disturb(world)()
    with pytest.raises(apis.ApiError, match="409"):
        world.plugin.post_filter(attempt)
    assert claims.allocation_of(world.stored()) is not None


def test_only_one_claim_is_given_up_in_an_attempt(world: World) -> None:
    world.plugin.post_filter(misplaced(world, "c", "d"))
    left = [name for name in ("c", "d") if claims.allocation_of(world.stored(name))]
    assert len(left) == 1
