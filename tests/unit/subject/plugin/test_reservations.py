"""Reservations of an allocated claim, by update and by patch, against the real store."""

from collections.abc import Callable
from typing import Any, get_args

import pytest

from harness.client import apis
from harness.subject import assembling, releases
from harness.subject.objects import claim_writes, claims
from harness.subject.plugin import claim_binding, scheduling_attempts
from tests.support import api_objects, local_servers
from tests.support.plugin_world import World

Object = dict[str, Any]
Server = local_servers.LocalServer
BOTH = get_args(claim_binding.ReserveBy)


@pytest.fixture(params=BOTH)
def world(server: Server, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> World:
    """A world for each way to reserve."""
    monkeypatch.setattr(claim_binding, "CONFLICT_WAIT_S", 0.0)
    return World(server, reserve_by=request.param)


def attempt_to_share(world: World, name: str = "q") -> scheduling_attempts.Attempt:
    """An attempt of another pod for the claim `c`, which pod `p` has allocated and reserved."""
    world.claim("c")
    world.plugin.pre_bind(world.reserved(world.pod("p")))
    return world.reserved(world.pod(name))


def reserved_for(world: World) -> list[str]:
    return sorted(entry["name"] for entry in claims.reservations_of(world.stored()))


def allocation(device: str) -> dict[str, Any]:
    """Return an allocation with its time, as kube-scheduler 1.36 writes it."""
    return {**api_objects.allocation(device), "allocationTimestamp": "2026-01-01T00:00:00Z"}


def freed(world: World) -> Object:
    return world.api.update_status(
        apis.CLAIMS, claims.with_status(world.stored(), allocation=None, reservedFor=None)
    )


def reallocate(world: World) -> None:
    """Move the claim to another device, as another scheduler might when all its pods have gone."""
    moved = claims.with_status(freed(world), allocation=allocation("b"))
    world.api.update_status(apis.CLAIMS, moved)


def test_an_update_is_tried_again_when_the_claim_has_changed_and_a_patch_need_not(
    world: World,
) -> None:
    attempt = attempt_to_share(world)
    labels = {"metadata": {"labels": {"changed": "yes"}}}
    world.api.patch(apis.CLAIMS, "c", labels, namespace="default")
    before = len(world.server.requests)
    world.plugin.pre_bind(attempt)
    verbs = [line.split()[0] for line in world.server.requests[before:]]
    assert verbs in (["PUT", "GET", "PUT"], ["PATCH"])
    assert reserved_for(world) == ["p", "q"]


def delete(world: World) -> None:
    world.api.delete(apis.CLAIMS, "c", namespace="default")  # its finalizer keeps it


def replace(world: World) -> None:
    """Another claim of this name, allocated as the first one was."""
    gone = freed(world)
    world.api.update(apis.CLAIMS, claims.with_metadata(gone, finalizers=[]))
    world.api.delete(apis.CLAIMS, "c", namespace="default")
    again = api_objects.claim("c", allocated=allocation("a"))
    local_servers.put(world.server, apis.CLAIMS, again)


@pytest.mark.parametrize("change", [delete, replace, freed])
def test_a_claim_that_must_not_be_reserved_any_more(
    world: World, change: Callable[[World], object]
) -> None:
    attempt = attempt_to_share(world)
    change(world)
    before = world.stored()
    world.fail_to_bind(attempt)
    assert world.stored() == before


def test_a_claim_that_has_moved_is_not_kept(world: World) -> None:
    """The pod's node was chosen for the old allocation; kube-scheduler would bind it there."""
    attempt = attempt_to_share(world)
    reallocate(world)
    error = world.fail_to_bind(attempt)
    assert "default/c got reallocated elsewhere in the meantime" in str(error)
    assert reserved_for(world) == []
    assert claims.allocation_of(world.stored()) == allocation("b")


@pytest.mark.parametrize("release", releases.names())
def test_a_release_takes_another_claim_of_the_name(server: Server, release: str) -> None:
    world = World(server, assembling.parts((), (), release))
    attempt = attempt_to_share(world)
    replace(world)
    world.plugin.pre_bind(attempt)
    assert reserved_for(world) == ["q"]


def test_a_pod_that_cannot_be_bound_after_all_leaves_a_claim_that_can_be_deallocated(
    world: World,
) -> None:
    """Its reservation is taken back, so that the claim can move to where another pod can run."""
    attempt = attempt_to_share(world)
    world.plugin.pre_bind(attempt)
    world.plugin.unreserve(attempt)  # the binding of the pod has failed
    assert reserved_for(world) == ["p"]
    first = world.api.get(apis.PODS, "p", namespace="default")
    claim_writes.remove_reservation(world.api, world.stored(), first)
    world.see()
    elsewhere = world.plugin.pre_filter(world.pod("r"))
    assert world.plugin.filter(elsewhere, api_objects.node("worker-9")) is None
    world.plugin.post_filter(elsewhere)
    assert claims.allocation_of(world.stored()) is None
