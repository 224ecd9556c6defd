"""Allocated devices are made ready: which conditions are reported, and when."""

from collections.abc import Callable, Iterator
from typing import Any

import pydantic
import pytest

from harness import clocks
from harness.client import apis
from harness.cluster.dra import device_attachments
from harness.scenario import driver_specs
from tests.support import api_objects, local_servers

Object = dict[str, Any]
READY, BROKEN = "dra.example/attached", "dra.example/broken"
TIMEOUT_S = 30.0
NOW = "2026-01-01T00:00:00Z"
AT_ONCE = {"delay_s": 0.0, "delay_s_max": 0.0}
FAILS = {**AT_ONCE, "failure_probability": 0.999999}
SILENT = {**AT_ONCE, "silence_probability": 0.999999}


class World:
    """A server with claims, whose events the test delivers."""

    def __init__(self, spec: Object) -> None:
        self.server = local_servers.LocalServer()
        self.api = apis.Api(self.server)
        self.attachments = device_attachments.DeviceAttachments(
            self.api, driver_specs.ConditionsSpec(**spec), now=lambda: NOW
        )
        self.attachments.start()

    def allocated(self, name: str, *, conditions: bool = True) -> Object:
        allocation = api_objects.allocation("a")
        if conditions:
            named = {"bindingConditions": [READY], "bindingFailureConditions": [BROKEN]}
            allocation["devices"]["results"][0] |= named
        made = api_objects.claim(name, allocated=allocation)
        stored = local_servers.put(self.server, apis.CLAIMS, made)
        self.attachments.on_add(stored, initial=False)
        return stored

    def stored(self, name: str) -> Object:
        return self.api.get(apis.CLAIMS, name, namespace="default")

    def conditions(self, name: str) -> dict[str, str]:
        """The conditions of the claim's only device, with their status."""
        devices = self.stored(name)["status"].get("devices") or [{}]
        return {item["type"]: item["status"] for item in devices[0].get("conditions") or ()}

    def wait(self, name: str, conditions: dict[str, str]) -> None:
        clocks.wait_until(
            lambda: self.conditions(name) == conditions,
            timeout_s=TIMEOUT_S,
            why=f"{conditions}",
            interval_s=0.002,
        )


@pytest.fixture
def make() -> Iterator[Callable[[Object], World]]:
    made: list[World] = []

    def make(spec: Object) -> World:
        made.append(World(spec))
        return made[-1]

    yield make
    for world in made:
        world.attachments.stop()
        world.server.close()


def test_the_conditions_of_an_allocated_device_become_true(make: Callable[[Object], World]) -> None:
    world = make(AT_ONCE)
    world.allocated("c")
    world.wait("c", {READY: "True"})
    (device,) = world.stored("c")["status"]["devices"]
    assert (device["device"], device["conditions"][0]["lastTransitionTime"]) == ("a", NOW)


def test_a_failure_is_reported_by_the_failure_conditions(make: Callable[[Object], World]) -> None:
    world = make(FAILS)
    world.allocated("c")
    world.wait("c", {BROKEN: "True"})


def test_nothing_is_reported_of_other_devices_and_of_silent_ones(
    make: Callable[[Object], World],
) -> None:
    silent, other = make(SILENT), make(AT_ONCE)
    silent.allocated("c")
    other.allocated("plain", conditions=False)
    other.allocated("c")
    other.wait("c", {READY: "True"})
    assert not silent.attachments._due
    assert (silent.conditions("c"), other.conditions("plain")) == ({}, {})


def test_an_allocation_is_decided_once(make: Callable[[Object], World]) -> None:
    world = make(AT_ONCE)
    world.allocated("c")
    world.wait("c", {READY: "True"})
    before = world.stored("c")
    world.attachments.on_update({}, before)
    world.allocated("d")
    world.wait("d", {READY: "True"})
    assert world.stored("c") == before


def test_a_claim_that_is_allocated_again_is_attached_again(make: Callable[[Object], World]) -> None:
    world = make(AT_ONCE)
    first = world.allocated("c")
    world.wait("c", {READY: "True"})
    freed = world.api.update_status(apis.CLAIMS, {**world.stored("c"), "status": {}})
    world.attachments.on_update(first, freed)
    again = {**freed, "status": {"allocation": first["status"]["allocation"]}}
    world.attachments.on_update(freed, world.api.update_status(apis.CLAIMS, again))
    world.wait("c", {READY: "True"})


def test_a_report_that_comes_too_late_is_dropped(make: Callable[[Object], World]) -> None:
    world = make({"delay_s": 0.05, "delay_s_max": 0.05})
    first = world.allocated("c")
    freed = world.api.update_status(apis.CLAIMS, {**first, "status": {}})
    world.attachments.on_update(first, freed)
    world.allocated("d")
    world.wait("d", {READY: "True"})
    assert world.stored("c") == freed


def test_a_conflict_is_tried_again(make: Callable[[Object], World]) -> None:
    world = make({"delay_s": 0.2, "delay_s_max": 0.2})
    world.allocated("c")

    def disturb() -> None:
        labels = {"metadata": {"labels": {"changed": "yes"}}}
        changed = world.api.patch(apis.CLAIMS, "c", labels, namespace="default")
        world.attachments.on_update({}, changed)

    before = world.server.count("PUT")
    world.server.before("PUT", "resourceclaims/c/status", disturb)
    world.wait("c", {READY: "True"})
    assert world.server.count("PUT") >= before + 2


def test_a_driver_with_which_runs_never_end_is_refused() -> None:
    with pytest.raises(pydantic.ValidationError, match="less than 1"):
        driver_specs.ConditionsSpec(failure_probability=1.0)
