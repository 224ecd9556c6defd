"""A claim that is reserved for as many pods as it can be: the next pod waits for the claim."""

from typing import Any

import pytest

from harness.client import apis
from harness.subject import assembling, releases
from harness.subject.objects import claims
from harness.subject.plugin import scheduling_attempts
from tests.support import api_objects, local_servers, scheduler_worlds
from tests.support.plugin_world import World

Object = dict[str, Any]
Server = local_servers.LocalServer


def entries(count: int) -> list[Object]:
    """Reservations for pods that no one else names."""
    return [{"resource": "pods", "name": f"o-{i}", "uid": f"uid-o-{i}"} for i in range(count)]


def reserved_claim(world: World, count: int) -> Object:
    made = world.claim("c", allocated=api_objects.allocation("a"))
    stored = world.api.update_status(
        apis.CLAIMS, claims.with_status(made, reservedFor=entries(count))
    )
    world.see()
    return stored


def test_a_claim_in_use_by_as_many_pods_as_allowed_keeps_the_next_from_prebind(
    server: Server,
) -> None:
    world = World(server)
    reserved_claim(world, claims.RESERVATIONS_MAX)
    with pytest.raises(scheduling_attempts.Unschedulable, match=r"^resourceclaim in use$"):
        world.plugin.pre_filter(world.pod())


def test_the_last_place_can_be_taken(server: Server) -> None:
    world = World(server)
    reserved_claim(world, claims.RESERVATIONS_MAX - 1)
    world.plugin.pre_bind(world.plugin.pre_filter(world.pod()))
    assert len(claims.reservations_of(world.stored())) == claims.RESERVATIONS_MAX


def test_a_pod_that_has_a_place_may_use_it(server: Server) -> None:
    world = World(server)
    stored = reserved_claim(world, claims.RESERVATIONS_MAX - 1)
    pod = world.pod()
    world.api.update_status(apis.CLAIMS, claims.with_reservation(stored, pod))
    world.see()
    assert world.plugin.pre_filter(pod).to_allocate == []


def bind_after_the_last_place_is_taken(server: Server, release: str | None) -> Exception:
    """Bind a pod whose place is taken after its PreFilter; return the error, after Unreserve."""
    world = World(server, assembling.parts((), (), release))
    stored = reserved_claim(world, claims.RESERVATIONS_MAX - 1)
    attempt = world.plugin.pre_filter(world.pod())
    world.api.update_status(
        apis.CLAIMS, claims.with_status(stored, reservedFor=entries(claims.RESERVATIONS_MAX))
    )
    error = world.fail_to_bind(attempt)
    assert len(claims.reservations_of(world.stored())) == claims.RESERVATIONS_MAX
    return error


def test_the_api_servers_refusal_is_told_as_a_claim_in_use(server: Server) -> None:
    error = bind_after_the_last_place_is_taken(server, None)
    assert isinstance(error, scheduling_attempts.ClaimInUseError)
    assert str(error) == "resourceclaim in use: default/c"


@pytest.mark.parametrize("release", releases.names())
def test_a_release_takes_it_for_any_other_error(server: Server, release: str) -> None:
    error = bind_after_the_last_place_is_taken(server, release)
    assert isinstance(error, apis.ApiError)
    assert error.code == 422
    world = World(local_servers.LocalServer(), assembling.parts((), (), release))
    reserved_claim(world, claims.RESERVATIONS_MAX)
    world.plugin.pre_filter(world.pod())


def test_another_refusal_is_not_a_claim_in_use(server: Server) -> None:
    world = World(server)
    reserved_claim(world, 1)
    attempt = world.plugin.pre_filter(world.pod())
    server.refuse("PUT", "resourceclaims/c/status", status=422)
    with pytest.raises(apis.ApiError):
        world.plugin.pre_bind(attempt)


# ------------------------------------------------------------------- with all threads


def test_the_loser_waits_for_the_claim_and_is_bound_when_a_place_is_free(
    server: Server, steps: list[tuple[str, dict[str, object]]]
) -> None:
    """Subject gap E10: it used to back off and try again, for as long as there was no place."""
    world = scheduler_worlds.World(server)
    world.put(apis.CLAIMS, api_objects.claim("c", allocated=api_objects.allocation("a")))

    def reserve(reserved: list[Object]) -> None:
        world.api.update_status(
            apis.CLAIMS, claims.with_status(world.claim("c"), reservedFor=reserved)
        )

    full = entries(claims.RESERVATIONS_MAX)
    reserve(full[1:])
    world.scheduler.start()
    server.before("PUT", "resourceclaims/c/status", lambda: reserve(full))
    world.put(apis.PODS, api_objects.pod("p", use=["c"]))
    world.wait(lambda: "bind.unschedulable" in dict(steps), "the binding to be refused")
    reserve(full[1:])
    world.wait_bound("p")
    world.scheduler.stop()
    assert "bind.failed" not in dict(steps)
    assert len(claims.reservations_of(world.claim("c"))) == claims.RESERVATIONS_MAX
