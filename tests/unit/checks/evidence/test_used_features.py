"""Which checks are about what a run used, read from its objects."""

import dataclasses
from typing import Any

import pytest

from harness.checks.evidence import used_features
from harness.checks.observed import folders
from tests.histories import worlds

PLAIN = worlds.World(pods=[worlds.pod("p", claim="a")], claims=[worlds.claim("a")])


def asked(world: worlds.World) -> set[str]:
    seen = used_features.UsedFeatures()
    folders.fold(world.observations(), seen)
    return set(seen.asked)


def device(**fields: Any) -> worlds.World:
    return worlds.World(slices=[worlds.devices_of("n", 2, **fields)])


def pod_with(resource: str, *, is_init: bool = False) -> worlds.World:
    pod = worlds.pod("p", claim="a")
    key = "initContainers" if is_init else "containers"
    pod["spec"][key] = [{"name": "c", "resources": {"requests": {resource: "1"}}}]
    return worlds.World(pods=[pod])


ALTERNATIVES = {"firstAvailable": [{"name": "x", "deviceClassName": worlds.CLASS}]}
CONSTRAINED = worlds.claim("a")
CONSTRAINED["spec"]["devices"]["constraints"] = [{"matchAttribute": "a/b"}]
PRIORITIZED = worlds.claim("a")
PRIORITIZED["spec"]["devices"]["requests"] = [{"name": "r", **ALTERNATIVES}]
IMPLICIT = "deviceclass.resource.kubernetes.io/gpu"
TAINT = {"key": "k", "effect": "NoSchedule"}
COUNTERS = [{"counterSet": "s", "counters": {"c": {"value": "1"}}}]


@pytest.mark.parametrize(
    ("world", "expected"),
    [
        (PLAIN, set()),
        (device(), set()),
        (worlds.World(claims=[CONSTRAINED]), {"claim_constraints"}),
        (worlds.World(claims=[PRIORITIZED]), {"requested_results"}),
        (worlds.World(claims=[worlds.claim("a", adminAccess=True)]), {"granted_access"}),
        (device(allowMultipleAllocations=True), {"granted_shares", "device_consumption"}),
        (device(consumesCounters=COUNTERS), {"device_consumption"}),
        (device(bindingConditions=["ready"]), {"device_readiness"}),
        (device(taints=[TAINT]), {"tainted_devices"}),
        (device(taints=[{**TAINT, "effect": "None"}]), set()),
        (worlds.World(taint_rules=[worlds.taint_rule("r")]), {"tainted_devices"}),
        (pod_with(IMPLICIT), {"extended_claims"}),
        (pod_with(IMPLICIT, is_init=True), {"extended_claims"}),
        (pod_with("cpu"), set()),
    ],
)
def test_what_is_used_is_asked_about(world: worlds.World, expected: set[str]) -> None:
    assert asked(world) == expected


@pytest.mark.parametrize(
    ("name", "expected"), [("example.com/gpu", {"extended_claims"}), ("", set())]
)
def test_a_class_backs_an_extended_resource(name: str, expected: set[str]) -> None:
    classes = [worlds.device_class("gpu", extended=name)]
    world = dataclasses.replace(pod_with("example.com/gpu"), classes=classes)
    assert asked(world) == expected
