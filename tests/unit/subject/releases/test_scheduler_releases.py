"""The differences between the schedulers of the releases, one test for each of them."""

from collections.abc import Sequence

import pytest

from harness import concurrency
from harness.client import apis
from harness.subject import assembling, releases
from harness.subject.extended_resources import extended_requests
from harness.subject.objects import claims
from harness.subject.plugin import scheduling_attempts
from harness.subject.queueing import cluster_events
from tests.support import api_objects, local_servers, plugin_world

STATUS = "resourceclaims/c/status"
SINCE = {"allocationTimestamp": "2026-01-01T00:00:00Z"}
Server = local_servers.LocalServer


def as_release(server: Server, release: str | None) -> plugin_world.World:
    return plugin_world.World(server, assembling.parts((), (), release))


@pytest.mark.parametrize(
    ("release", "is_left_to_unreserve"),
    [
        (None, True),
        ("1.36.2", False),
        ("1.34.2", False),
    ],
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
    ("release", "is_assumed"),
    [(None, True), ("1.36.2", True), ("1.34.2", False)],
)
def test_whether_a_mere_reservation_is_assumed(
    server: Server, release: str | None, is_assumed: bool
) -> None:
    world = as_release(server, release)
    stored = world.claim("c", allocated={**api_objects.allocation("a"), **SINCE})
    pod = world.pod()
    world.plugin.pre_bind(scheduling_attempts.Attempt(pod, [stored]))
    assert claims.is_reserved_for(world.stored(), pod)
    cached = world.cache.get("default/c")
    assert cached is not None
    assert claims.is_reserved_for(cached, pod) is is_assumed


@pytest.mark.parametrize(
    ("release", "is_known"), [(None, True), ("1.36.2", False), ("1.34.2", False)]
)
def test_whether_a_removed_reservation_is_known_before_its_event(
    server: Server, release: str | None, is_known: bool
) -> None:
    """Otherwise the next attempt binds the pod to a claim that is not reserved for it."""
    world = as_release(server, release)
    world.claim("c")
    pod = world.pod()
    attempt = world.reserved(pod)
    world.plugin.pre_bind(attempt)
    world.plugin.unreserve(attempt)
    assert not claims.is_reserved_for(world.stored(), pod)
    again = world.plugin.pre_filter(pod)
    assert claims.is_reserved_for(again.claims[0], pod) is not is_known


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


@pytest.mark.parametrize(
    ("release", "ends_the_attempt"), [(None, True), ("1.36.2", True), ("1.34.2", False)]
)
def test_what_a_search_that_takes_too_long_means(
    server: Server, monkeypatch: pytest.MonkeyPatch, release: str | None, ends_the_attempt: bool
) -> None:
    world = as_release(server, release)
    world.claim("c")
    attempt = world.plugin.pre_filter(world.pod())
    monkeypatch.setattr(attempt.allocator, "_timeout_s", 1e-9)
    if ends_the_attempt:
        expected = "^node worker-0: timed out trying to allocate devices$"
        with pytest.raises(scheduling_attempts.AttemptError, match=expected):
            world.plugin.filter(attempt, api_objects.node())
    else:
        assert world.plugin.filter(attempt, api_objects.node()) is None
        assert attempt.refusals == {"timed out trying to allocate devices": 1}


def test_1_36_2_cannot_reserve_an_allocation_without_a_time(server: Server) -> None:
    """As in the recorded case pre-allocated-no-timestamp."""
    world = as_release(server, "1.36.2")
    stored = world.claim("c", allocated=api_objects.allocation("a"))
    attempt = scheduling_attempts.Attempt(world.pod(), [stored])
    with pytest.raises(apis.ApiError, match=r"is invalid: status\.allocation: "):
        world.plugin.pre_bind(attempt)


@pytest.mark.parametrize(("release", "helps"), [(None, True), ("1.36.2", False), ("1.34.2", False)])
def test_whether_a_lost_object_helps(release: str | None, helps: bool) -> None:
    hints = assembling.parts((), (), release).hints(lambda _: None)
    pod, freed = api_objects.known_pod("p"), api_objects.claim("c", version=1)
    freed["status"] = {"allocation": api_objects.allocation("a")}
    for resource in (cluster_events.CLAIM, cluster_events.SLICE):
        event = cluster_events.ClusterEvent(resource, cluster_events.DELETE, freed, None)
        hint = hints.of(pod, {scheduling_attempts.DYNAMIC_RESOURCES}, event)
        assert hint.is_worth_trying is helps


@pytest.mark.parametrize(
    ("defects", "is_free"), [((), False), (["unreserve-restores-written-claim"], True)]
)
def test_whether_the_device_of_a_written_claim_looks_free_after_a_failed_pre_bind(
    server: Server, defects: Sequence[str], is_free: bool
) -> None:
    """H21: the pod's second claim is refused."""
    world = plugin_world.World(server, assembling.parts(defects))
    world.claim("c")
    world.claim("d")
    attempt = world.reserved(world.pod("p", "c", "d"))
    server.refuse("PUT", "resourceclaims/d/status", status=500)
    with pytest.raises(apis.ApiError):
        world.plugin.pre_bind(attempt)
    server.refuse("PATCH", STATUS, status=500)
    world.plugin.unreserve(attempt)
    assert claims.allocation_of(world.stored())
    assert (api_objects.device_id("a") not in world.gatherer.gather().devices) is is_free


@pytest.mark.parametrize(
    ("release", "has_claim"), [(None, True), ("1.36.2", True), ("1.34.2", False)]
)
def test_the_implicit_extended_resource_of_a_class(
    server: Server, release: str | None, has_claim: bool
) -> None:
    """1.34 takes its name for that of a native resource, and binds the pod without a claim."""
    world = plugin_world.ExtendedWorld(server, assembling.parts((), (), release))
    name = f"{extended_requests.IMPLICIT_PREFIX}{api_objects.CLASS}"
    pod = api_objects.pod("p")
    pod["spec"]["containers"][0]["resources"] = {"limits": {name: "1"}}
    attempt = world.plugin.pre_filter(world.api.create(apis.PODS, pod, namespace="default"))
    assert bool(attempt.claims) is has_claim
    assert world.plugin.filter(attempt, api_objects.node()) is not None
