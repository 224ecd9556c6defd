"""Pods that ask for an extended resource and name no claim: which are stuck, and which may wait."""

import dataclasses
from typing import Any

import msgspec
import pytest

from harness.checks import verdicts
from harness.checks.nodes import extended_claims
from harness.checks.observed import observed_pods
from harness.checks.progress import claim_progress
from tests.histories import worlds
from tests.histories.worlds import World

VALID, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.INVALID
IMPLICIT = f"deviceclass.resource.kubernetes.io/{worlds.CLASS}"
D0, D1 = worlds.device("n", 0), worlds.device("n", 1)
TWO_DEVICES = [worlds.devices_of("n", 2)]
Object = dict[str, Any]


def container(amount: int, *, resource: str = IMPLICIT, **more: Any) -> Object:
    return {"name": "c", "resources": {"requests": {resource: str(amount)}}, **more}


def pod(name: str, amount: int = 1, *, resource: str = IMPLICIT, **more: Any) -> Object:
    made = worlds.pod(name, **more)
    made["spec"] = {
        **{key: value for key, value in made["spec"].items() if key != "resourceClaims"},
        "containers": [container(amount, resource=resource)],
    }
    return made


def claim(name: str, owner: str, *held: str, **more: Any) -> Object:
    made = worlds.claim(name, *held, owner=owner, **more)
    made["metadata"]["annotations"] = {"resource.kubernetes.io/extended-resource-claim": "true"}
    return made


def judge(world: World) -> verdicts.CheckResult:
    given = worlds.judged(world, plan=worlds.plan(), phases=worlds.phases(seconds=60))
    answer = claim_progress.judge(given)
    assert isinstance(answer, verdicts.CheckResult)
    return answer


@pytest.mark.parametrize(
    ("world", "summary"),
    [
        (World(pods=[pod("p")], slices=TWO_DEVICES), f"pod p waits while {D0} is idle"),
        (World(pods=[pod("p", 2)], slices=TWO_DEVICES), f"pod p waits while {D0}, {D1} are idle"),
        (
            World(pods=[pod("p")], claims=[claim("a", "p")], slices=TWO_DEVICES),
            f"pod p waits while {D0} is idle",
        ),
        (
            World(pods=[pod("p")], claims=[claim("a", "p", D0, users=["p"])], slices=TWO_DEVICES),
            "pod p is not bound",
        ),
    ],
    ids=["idle", "two idle", "a claim of an earlier attempt", "allocated"],
)
def test_what_is_stuck(world: World, summary: str) -> None:
    result = judge(world)
    assert (result.verdict, result.violation_count) == (INVALID, 1)
    assert result.violations[0].summary == f"STUCK: {summary}"


@pytest.mark.parametrize(
    "world",
    [
        World(
            pods=[pod("p"), pod("q", 2, phase="Running", node="n")],
            claims=[claim("a", "q", D0, D1, users=["q"], count=2)],
            slices=TWO_DEVICES,
        ),
        World(pods=[pod("p", 3)], slices=TWO_DEVICES),
        World(pods=[pod("p", resource="example.com/other")], slices=TWO_DEVICES),
    ],
    ids=["in use", "too few", "a resource of which the plan does not know"],
)
def test_what_may_wait(world: World) -> None:
    result = judge(world)
    assert (result.verdict, result.violations) == (VALID, [])


def test_a_pod_with_a_claim_of_its_own_needs_devices_for_both() -> None:
    both = worlds.pod("p", claim="a")
    both["spec"]["containers"] = [container(2)]
    world = World(pods=[both], claims=[worlds.claim("a")], slices=TWO_DEVICES)
    assert judge(world).verdict is VALID
    assert judge(dataclasses.replace(world, slices=[worlds.devices_of("n", 3)])).verdict is INVALID


@pytest.mark.parametrize(
    ("spec", "devices"),
    [
        ({"containers": [container(1), container(2)]}, 3),
        ({"containers": [container(1)], "initContainers": [container(3)]}, 3),
        (
            {
                "containers": [container(1)],
                "initContainers": [container(1, restartPolicy="Always"), container(2)],
            },
            3,
        ),
        ({"containers": [container(1, resource="e.example/gpu"), container(1)]}, 2),
        ({"containers": [{"name": "c"}]}, 0),
    ],
)
def test_the_devices_for_a_pod(spec: Object, devices: int) -> None:
    """An init container uses the devices of the containers after it, but not a sidecar's before."""
    settings = {
        "pools": {"device_class": {"name": worlds.CLASS, "extended_resource": "e.example/gpu"}}
    }
    resource = extended_claims.ExtendedResource(settings)
    made = {"metadata": {"name": "p", "uid": "p", "resourceVersion": "1"}, "spec": spec}
    assert resource.devices_for(msgspec.convert(made, observed_pods.Pod)) == devices


def test_classes_from_files_back_resources_too() -> None:
    imported = {"classes": {"nic": "e.example/nic", "plain": ""}}
    settings = {"pools": {"device_class": {"name": "gpu"}, "imported": imported}}
    resource = extended_claims.ExtendedResource(settings)
    implicit = "deviceclass.resource.kubernetes.io/gpu"
    spec = {"containers": [container(1, resource="e.example/nic"), container(2, resource=implicit)]}
    made = {"metadata": {"name": "p", "uid": "p", "resourceVersion": "1"}, "spec": spec}
    pod = msgspec.convert(made, observed_pods.Pod)
    assert resource.kinds_for(pod) == {("nic",): 1, ("gpu",): 2}
