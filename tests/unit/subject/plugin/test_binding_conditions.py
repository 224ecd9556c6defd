"""Devices that have to be made ready: PreBind waits, and what is not made ready is given up."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness import clocks
from harness.client import apis
from harness.subject import assembling, releases
from harness.subject.objects import claims
from harness.subject.plugin import binding_conditions, scheduling_attempts
from tests.support import api_objects, controlled_runtimes, local_servers, scheduler_worlds
from tests.support.plugin_world import World

Object = dict[str, Any]
Server = local_servers.LocalServer
READY, BROKEN = "dra.example/attached", "dra.example/broken"
CONDITIONS = {"bindingConditions": [READY], "bindingFailureConditions": [BROKEN]}
TIMEOUT_S = 30.0


def attachable(name: str) -> Object:
    """A device that has to be attached before it can be used."""
    return {**api_objects.device(name), **CONDITIONS}


def condition(kind: str, status: str = "True") -> Object:
    return {
        "type": kind,
        "status": status,
        "reason": "Told",
        "message": "so it is",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }


def report(world: World, *conditions: Object, name: str = "c") -> None:
    """Do the driver's work: report conditions of the claim's device, and deliver the event."""
    set_conditions(world.api, world.stored(name), *conditions)
    world.see(name)


def set_conditions(api: apis.Api, claim: Object, *conditions: Object) -> Object:
    (result,) = claim["status"]["allocation"]["devices"]["results"]
    device = {key: result[key] for key in ("driver", "pool", "device")}
    reported = [{**device, "conditions": list(conditions)}]
    return api.update_status(apis.CLAIMS, claims.with_status(claim, devices=reported))


def with_device(world: World) -> World:
    world.inventory.on_update({}, api_objects.slice_of(attachable("a")))
    return world


@pytest.fixture
def world(server: Server) -> Iterator[World]:
    world = with_device(World(server))
    yield world
    world.plugin.end_waits()


def waiting(world: World) -> int:
    return sum(map(len, world.conditions._waiters.values()))


class Binding:
    """PreBind of a pod on a thread of its own."""

    def __init__(self, world: World, pod: str = "p") -> None:
        self.attempt = world.reserved(world.pod(pod))
        self.error: Exception | None = None
        self._world = world
        self._thread = threading.Thread(target=self._run, daemon=True)
        before = waiting(world)
        self._thread.start()
        clocks.wait_until(
            lambda: waiting(world) > before or not self.is_waiting,
            timeout_s=TIMEOUT_S,
            why="the wait to begin",
            interval_s=0.002,
        )

    @property
    def is_waiting(self) -> bool:
        return self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._world.plugin.pre_bind(self.attempt)
        except Exception as error:
            self.error = error

    def end(self) -> Exception | None:
        self._thread.join(TIMEOUT_S)
        assert not self.is_waiting
        return self.error


# ------------------------------------------------------------------- reading claims


def claim_with(*conditions: Object, result: Object | None = None) -> Object:
    made = api_objects.claim("c", allocated=api_objects.allocation("a"))
    made["status"]["allocation"]["devices"]["results"][0] |= result or CONDITIONS
    device = api_objects.result("a", pool="worker-0")
    device.pop("request")
    made["status"]["devices"] = [{**device, "conditions": list(conditions)}]
    return made


@pytest.mark.parametrize(
    ("conditions", "is_ready", "has_failed"),
    [
        ([], False, False),
        ([condition(READY)], True, False),
        ([condition(READY, "False")], False, False),
        ([condition(READY, "Unknown")], False, False),
        ([condition(BROKEN)], False, True),
        ([condition(READY), condition(BROKEN)], True, True),
        ([condition(READY), condition(BROKEN, "False")], True, False),
        ([condition("dra.example/other")], False, False),
    ],
)
def test_the_conditions_of_a_claim(
    conditions: list[Object], is_ready: bool, has_failed: bool
) -> None:
    claim = claim_with(*conditions)
    assert binding_conditions.has_conditions(claim)
    assert binding_conditions.is_ready(claim) is is_ready
    assert (binding_conditions.why_failed(claim) is not None) is has_failed


def test_the_reason_is_told_in_kube_schedulers_words() -> None:
    assert binding_conditions.why_failed(claim_with(condition(BROKEN))) == (
        'claim c binding failed: reason=Told, message="so it is"'
    )


# ---------------------------------------------------------------------------- waiting


def test_the_allocation_names_the_conditions_and_its_time(world: World) -> None:
    world.claim("c")
    binding = Binding(world)
    allocation = claims.allocation_of(world.stored())
    assert allocation is not None
    (result,) = allocation["devices"]["results"]
    assert {key: result[key] for key in CONDITIONS} == CONDITIONS
    assert allocation["allocationTimestamp"].endswith("Z")
    report(world, condition(READY))
    assert binding.end() is None


@pytest.mark.parametrize("release", ["1.34.2", "1.36.2"])
def test_every_release_writes_the_time_of_an_allocation(server: Server, release: str) -> None:
    """As in the recordings of both, made with the gate DRADeviceBindingConditions on."""
    world = World(server, assembling.parts(release=release))
    world.claim("c")
    world.plugin.pre_bind(world.reserved(world.pod()))
    allocation = claims.allocation_of(world.stored())
    assert allocation is not None
    assert allocation["allocationTimestamp"].endswith("Z")


def test_a_pod_waits_until_its_device_is_ready(world: World) -> None:
    world.claim("c")
    binding = Binding(world)
    report(world, condition(READY, "False"))
    world.claim("other")
    report(world)
    assert binding.is_waiting
    report(world, condition(READY))
    assert binding.end() is None
    assert not world.conditions._waiters


def deallocate(world: World) -> None:
    freed = claims.with_status(world.stored(), allocation=None, reservedFor=None)
    world.api.update_status(apis.CLAIMS, freed)
    world.see()


def vanish(world: World) -> None:
    last = world.stored()
    world.cache.on_delete(last)
    world.conditions.on_delete(last)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda world: report(world, condition(BROKEN)), "binding failed: reason=Told"),
        (deallocate, "got deallocated elsewhere in the meantime"),
        (vanish, "got deleted in the meantime"),
        (lambda world: world.plugin.end_waits(), "the scheduler stops"),
    ],
)
def test_what_else_ends_the_wait(
    world: World, change: Callable[[World], object], words: str
) -> None:
    """R46: kube-scheduler 1.34.2 ends with a nil dereference when the claim is deallocated."""
    world.claim("c")
    binding = Binding(world)
    change(world)
    error = binding.end()
    assert isinstance(error, scheduling_attempts.BindingError)
    assert words in str(error)


@pytest.mark.parametrize("release", releases.names())
def test_a_lost_allocation_is_waited_for_by_releases(server: Server, release: str) -> None:
    world = with_device(World(server, assembling.parts((), (), release)))
    world.claim("c")
    binding = Binding(world)
    deallocate(world)
    assert binding.is_waiting
    world.plugin.end_waits()
    assert "the scheduler stops" in str(binding.end())


@pytest.mark.parametrize(
    ("release", "timeout_s", "ends_s"),
    [(None, 600.0, 600), (None, 5.0, 5), ("1.36.2", 5.0, 5), ("1.34.2", 5.0, 600)],
)
def test_a_wait_ends_when_time_is_up(
    server: Server,
    time: controlled_runtimes.VirtualTime,
    release: str | None,
    timeout_s: float,
    ends_s: float,
) -> None:
    """1.34.2 has one time limit."""
    parts = assembling.parts(release=release)
    world = with_device(World(server, parts, binding_timeout_s=timeout_s))
    world.claim("c")
    attempt = world.reserved(world.pod())
    with pytest.raises(scheduling_attempts.BindingError, match="device binding timeout"):
        world.plugin.pre_bind(attempt)
    assert time.now_s == pytest.approx(ends_s, abs=1)


# -------------------------------------------------------------------------- giving up


def after_a_failed_wait(world: World) -> scheduling_attempts.Attempt:
    """The next attempt of a pod whose device has broken, as far as its Filter."""
    world.claim("c")
    binding = Binding(world)
    report(world, condition(BROKEN))
    assert binding.end() is not None
    world.plugin.unreserve(binding.attempt)
    world.see()
    attempt = world.plugin.pre_filter(binding.attempt.pod)
    assert world.plugin.filter(attempt, api_objects.node()) is None
    return attempt


def test_a_claim_whose_device_is_broken_is_deallocated(world: World) -> None:
    attempt = after_a_failed_wait(world)
    assert claims.reservations_of(world.stored()) == []
    assert attempt.explanation().endswith("resourceclaim not available on the node.")
    world.plugin.post_filter(attempt)
    assert {"allocation", "reservedFor", "devices"}.isdisjoint(world.stored()["status"])


def test_a_claim_is_given_up_when_its_time_is_up_and_not_before(
    server: Server, time: controlled_runtimes.VirtualTime
) -> None:
    world = with_device(World(server))
    claim = claim_with()
    claim["status"]["allocation"]["allocationTimestamp"] = "1970-01-01T00:00:00Z"
    time.sleep(599)
    assert not world.conditions.have_failed(claim)
    time.sleep(2)
    assert world.conditions.have_failed(claim)
    ready = claim_with(condition(READY))["status"]["devices"]
    assert not world.conditions.have_failed(claims.with_status(claim, devices=ready))


# ------------------------------------------------------------------- with all threads


def test_a_scheduler_that_stops_waits_for_no_device(server: Server) -> None:
    world = scheduler_worlds.World(server, None, api_objects.slice_of(attachable("a")))
    world.add_pod("p")
    world.scheduler.start()
    world.wait(lambda: world.scheduler._conditions._waiters, "the pod to wait")
    world.scheduler.stop()
    assert claims.reservations_of(world.claim("of-p")) == []
