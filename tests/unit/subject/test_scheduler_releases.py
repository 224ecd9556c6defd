"""The differences between the schedulers of the releases, one test for each of them."""

from typing import Any

import pytest

from harness import concurrency, errors
from harness.client import apis
from harness.subject import (
    assembling,
    assume_caches,
    claims,
    gathering,
    releases,
    scheduling_attempts,
)
from tests.support import api_objects, local_servers, plugin_world

Object = dict[str, Any]
STATUS = "resourceclaims/c/status"
Server = local_servers.LocalServer


def as_release(server: Server, release: str | None) -> plugin_world.World:
    return plugin_world.World(server, assembling.parts((), (), release))


@pytest.mark.parametrize(
    ("release", "has_drain", "has_gather"),
    [(None, True, True), ("1.36.2", True, True), ("1.34.2", False, False)],
)
def test_the_parts_with_the_fixes_of_both_races(
    release: str | None, has_drain: bool, has_gather: bool
) -> None:
    parts = assembling.parts((), (), release)
    assert (parts.assume_cache is assume_caches.AssumeCache) is has_drain
    assert (parts.gatherer is gathering.Gatherer) is has_gather


@pytest.mark.parametrize(
    ("release", "is_left_to_unreserve"), [(None, True), ("1.36.2", False), ("1.34.2", False)]
)
def test_where_a_claim_is_after_a_failed_write(
    server: Server, release: str | None, is_left_to_unreserve: bool
) -> None:
    world = as_release(server, release)
    world.claim("c")
    attempt = world.reserved(world.pod())
    server.refuse("PUT", STATUS, status=500)
    with pytest.raises(apis.ApiError):
        world.plugin.pre_bind(attempt)
    assert bool(world.flight.listed()) is is_left_to_unreserve
    world.plugin.unreserve(attempt)
    assert world.flight.listed() == []


@pytest.mark.parametrize(
    ("release", "is_assumed"), [(None, True), ("1.36.2", True), ("1.34.2", False)]
)
def test_whether_a_mere_reservation_is_assumed(
    server: Server, release: str | None, is_assumed: bool
) -> None:
    world = as_release(server, release)
    stored = world.claim("c", allocated=api_objects.allocation("a"))
    pod = world.pod()
    world.plugin.pre_bind(scheduling_attempts.Attempt(pod, [stored]))
    assert claims.is_reserved_for(world.stored(), pod)
    cached = world.cache.get("default/c")
    assert cached is not None
    assert claims.is_reserved_for(cached, pod) is is_assumed


@pytest.mark.parametrize("release", releases.names())
def test_an_allocation_is_assumed_before_it_leaves_the_flight(
    server: Server, release: str, steps: list[tuple[str, dict[str, object]]]
) -> None:
    world = as_release(server, release)
    world.claim("c")
    attempt = world.reserved(world.pod())
    steps.clear()
    world.plugin.pre_bind(attempt)
    concurrency.listen(None)
    taken = [name for name, _ in steps]
    assert taken.index("pre-bind.assumed") < taken.index("in-flight.removed")
    assert (world.flight.listed(), world.cache.get("default/c")) == ([], world.stored())


def test_an_unknown_release() -> None:
    with pytest.raises(errors.UsageError, match=r"Known releases: 1\.34\.2, 1\.36\.2"):
        assembling.parts((), (), "1.30")
