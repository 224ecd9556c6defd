"""Extended resources from PreFilter to what is left when binding fails, against the real store."""

from collections.abc import Iterator
from typing import Any

import pytest

from harness import concurrency
from harness.subject.extended_resources import extended_claims
from harness.subject.objects import claims
from harness.subject.plugin import dynamic_resources, scheduling_attempts
from tests.support import api_objects, local_servers
from tests.support.plugin_world import GPU, ExtendedWorld

Object = dict[str, Any]
A = api_objects.device_id("a")


@pytest.fixture
def world(server: local_servers.LocalServer, monkeypatch: pytest.MonkeyPatch) -> ExtendedWorld:
    """The claim is delivered when it is awaited first, and not before."""
    monkeypatch.setattr(extended_claims, "WAIT_S", 0.0)
    monkeypatch.setattr(extended_claims, "CONFLICT_WAIT_S", 0.0)
    return ExtendedWorld(server)


@pytest.fixture
def _delivering(world: ExtendedWorld) -> Iterator[None]:
    """The claim is delivered when the binder waits for it."""
    concurrency.listen(
        lambda name, _: world.deliver() if name == "pre-bind.awaiting-informer" else None
    )
    yield
    concurrency.listen(None)


def devices_in_use(world: ExtendedWorld) -> set[str]:
    return set(world.gatherer.gather().devices)


@pytest.mark.usefixtures("_delivering")
def test_the_claim_is_created_allocated_reserved_and_named(world: ExtendedWorld) -> None:
    pod = world.wanting()
    world.plugin.pre_bind(world.reserved(pod))
    (claim,) = world.created()
    assert claim["metadata"]["name"].startswith("p-extended-resources-")
    assert claim["metadata"]["annotations"] == {extended_claims.ANNOTATION: "true"}
    assert claims.is_for(claim, pod)
    assert claims.has_finalizer(claim)
    assert claims.is_reserved_for(claim, pod)
    assert [*claims.exclusive_devices(claims.allocation_of(claim))] == [A]
    mapping = {
        "containerName": "main",
        "resourceName": GPU,
        "requestName": "container-0-request-0",
    }
    assert world.status() == {
        "resourceClaimName": claim["metadata"]["name"],
        "requestMappings": [mapping],
    }
    assert world.flight.listed() == []


def _visible(world: ExtendedWorld) -> set[str]:
    """The devices that are allocated or in flight, read without taking steps."""
    planned = (claims.allocation_of(item) for item in world.flight.listed())
    in_flight = {
        device for allocation in planned for device in claims.exclusive_devices(allocation)
    }
    return in_flight | set(world.allocated.get()[0].devices)


def test_a_claim_that_never_comes_is_not_awaited_for_ever(
    world: ExtendedWorld, monkeypatch: pytest.MonkeyPatch, steps: list[Any]
) -> None:
    monkeypatch.setattr(extended_claims, "WAIT_MAX_S", 0.0)
    world.plugin.pre_bind(world.reserved(world.wanting()))
    assert "pre-bind.not-assumed" in [name for name, _ in steps]


def test_a_claim_that_was_deleted_meanwhile_is_awaited_until_its_deletion_comes(
    world: ExtendedWorld, steps: list[tuple[str, dict[str, object]]]
) -> None:
    """Until then its late events take away its device, also from another claim that has it."""
    attempt, written = world.reserved(world.wanting()), list[Object]()

    def on_step(name: str, fields: concurrency.StepFields) -> None:
        steps.append((name, dict(fields)))
        if name == "pre-bind.written":
            written.extend(world.created())
            extended_claims.delete(world.api, written[0])
        elif name == "pre-bind.awaiting-informer":
            assert _visible(world) == {A}
            if [taken for taken, _ in steps].count(name) == 3:
                world.cache.on_add(written[0], initial=False)
                world.cache.on_delete(written[0])

    concurrency.listen(on_step)
    world.plugin.pre_bind(attempt)
    names = [name for name, _ in steps]
    assert names.count("pre-bind.awaiting-informer") == 3
    assert "pre-bind.not-assumed" in names
    assert world.flight.listed() == []
    assert devices_in_use(world) == set()


@pytest.mark.usefixtures("_delivering")
@pytest.mark.parametrize(
    ("verb", "path"),
    [
        ("POST", "resourceclaims"),
        ("PUT", "resourceclaims/"),
        ("PATCH", "pods/p/status"),
    ],
)
def test_nothing_is_left_of_an_attempt_that_failed(
    world: ExtendedWorld, verb: str, path: str
) -> None:
    attempt = world.reserved(world.wanting())
    world.server.refuse(verb, path, status=500)
    world.fail_to_bind(attempt)
    assert world.created() == []
    assert world.flight.listed() == []


def left_over(world: ExtendedWorld, pod: Object) -> Object:
    """A claim that an earlier attempt has created, and could not delete."""
    made = extended_claims.with_requests(
        extended_claims.in_memory(pod), [api_objects.exactly(count=1)]
    )
    claim = extended_claims.create(world.api, made)
    world.deliver()
    return claim


def test_a_claim_that_was_left_rules_out_every_node_and_is_deleted(world: ExtendedWorld) -> None:
    pod = world.wanting()
    claim = left_over(world, pod)
    attempt = world.plugin.pre_filter(pod)
    assert world.plugin.filter(attempt, api_objects.node()) is None
    assert attempt.refusals == {dynamic_resources.LEFT_OVER: 1}
    world.plugin.post_filter(attempt)
    assert world.created() == []
    world.extended.claims.on_delete(claim)
    assert world.activated == ["all"]
    assert world.plugin.filter(world.plugin.pre_filter(pod), api_objects.node()) is not None


def test_a_claim_that_is_being_settled_makes_the_pod_wait(world: ExtendedWorld) -> None:
    pod = world.wanting()
    claim = left_over(world, pod)
    world.flight.add(claims.with_status(claim, allocation=api_objects.allocation("a")))
    with pytest.raises(scheduling_attempts.Unschedulable, match="in the process of being"):
        world.plugin.pre_filter(pod)
