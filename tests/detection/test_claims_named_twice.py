"""A pod names one claim in two entries, and each entry is planned with devices of its own.

The first plan is the one that is written. Another pod must not get its devices meanwhile.
"""

import contextlib
from typing import Any

import pytest

from harness.client import apis
from harness.subject import assembling
from harness.subject.objects import claims
from harness.subject.plugin import scheduling_attempts
from tests.support import api_objects, local_servers, plugin_world

pytestmark = pytest.mark.detection


def devices(world: plugin_world.World, name: str) -> set[str]:
    return {*claims.exclusive_devices(claims.allocation_of(world.stored(name)))}


def scheduled(*chosen: str, release: str | None = None) -> plugin_world.World:
    world = plugin_world.World(
        local_servers.LocalServer(),
        assembling.parts(chosen, release=release),
        devices=["a", "b", "e"],
    )
    world.claim("c")
    world.claim("d")
    attempt = world.reserved(named_twice(world))
    world.schedule(world.pod("q", "d"))
    with pytest.raises(scheduling_attempts.BindingError, match="got allocated elsewhere"):
        world.plugin.pre_bind(attempt)
    world.plugin.unreserve(attempt)
    return world


def named_twice(world: plugin_world.World) -> dict[str, object]:
    entries = [{"name": name, "resourceClaimName": "c"} for name in ("first", "again")]
    pod = api_objects.pod("p")
    pod["spec"]["resourceClaims"] = entries
    return world.api.create(apis.PODS, pod, namespace="default")


def test_the_correct_code_keeps_the_plan_that_is_written() -> None:
    world = scheduled()
    assert devices(world, "c") == {api_objects.device_id("a")}
    assert devices(world, "d") == {api_objects.device_id("b")}
    assert world.flight.listed() == []
    assert world.gatherer.gather().devices == devices(world, "c") | devices(world, "d")


@pytest.mark.parametrize(
    ("defects", "release", "is_shared"),
    [(["in-flight-overwritten"], None, True), ([], "1.34.2", True), ([], "1.36.2", False)],
)
def test_the_defect_gives_its_device_to_the_other_pod(
    defects: list[str], release: str | None, is_shared: bool
) -> None:
    world = scheduled(*defects, release=release)
    assert (devices(world, "c") == devices(world, "d")) == is_shared


def freed_between(release: str | None = None) -> plugin_world.World:
    parts = assembling.parts((), release=release)
    world = plugin_world.World(local_servers.LocalServer(), parts, devices=["a", "b"])
    for name in "cde":
        world.claim(name)
    attempt = world.reserved(named_twice(world))
    write = world.binder._bind_claim

    def written(*arguments: Any) -> dict[str, Any]:
        world.binder._bind_claim = write  # type: ignore[method-assign]
        done = write(*arguments)
        free(world)
        for pod, claim in (("q", "d"), ("r", "e")):
            world.schedule(world.pod(pod, claim))
        return done

    world.binder._bind_claim = written  # type: ignore[method-assign, assignment]
    with contextlib.suppress(scheduling_attempts.BindingError):
        world.plugin.pre_bind(attempt)
    return world


def free(world: plugin_world.World) -> None:
    freed = claims.with_status(world.stored("c"), allocation=None, reservedFor=None)
    world.api.update_status(apis.CLAIMS, freed)
    world.see("c")


@pytest.mark.parametrize(("release", "is_shared"), [(None, False), ("1.36.2", True)])
def test_a_second_plan_is_not_written_after_the_first_one(
    release: str | None, *, is_shared: bool
) -> None:
    world = freed_between(release)
    assert (devices(world, "c") == devices(world, "e")) == is_shared
    assert devices(world, "d") | devices(world, "e") == {*map(api_objects.device_id, "ab")}


def test_the_next_attempt_reserves_the_claim_once() -> None:
    world = scheduled()
    pod = world.api.get(apis.PODS, "p", namespace="default")
    world.plugin.pre_bind(world.reserved(pod))
    assert len(claims.reservations_of(world.stored("c"))) == 1


def test_as_a_release_the_second_reservation_is_refused() -> None:
    world = scheduled(release="1.36.2")
    pod = world.api.get(apis.PODS, "p", namespace="default")
    world.see("c")  # Unreserve has taken the reservation back
    with pytest.raises(apis.ApiError, match="Duplicate value"):
        world.plugin.pre_bind(world.reserved(pod))
