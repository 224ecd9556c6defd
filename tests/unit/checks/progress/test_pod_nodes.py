"""The nodes on which a pod may run; a pod waits rightly where CPU, memory or places are used up."""

from typing import Any

import msgspec
import pytest

from harness.checks import verdicts
from harness.checks.nodes import extended_claims
from harness.checks.observed import observed_claims, observed_pods
from harness.checks.progress import claim_progress, device_supply, stuck_objects, world_states
from tests.histories import worlds

Object = dict[str, Any]
VALID, UNKNOWN, INVALID = verdicts.Verdict

NODES = {"n": {"zone": "a", "disk": "fast"}, "m": {"zone": "b"}}


def allowed(fields: dict[str, Any], nodes: dict[str, dict[str, str]] | None = NODES) -> Any:
    """The nodes on which a pod may run; "unclear" where an observer cannot tell."""
    state = world_states.WorldState()
    state.nodes = None if nodes is None else {**nodes}
    known = stuck_objects.PodNodes(state, device_supply.DeviceSupply(state))
    try:
        return known.allowed(msgspec.convert(fields, observed_pods.PodSpec))
    except stuck_objects.UnclearError:
        return "unclear"


def affinity(*values: str, operator: str = "In") -> dict[str, Any]:
    term = {"matchExpressions": [{"key": "zone", "operator": operator, "values": [*values]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return {"nodeAffinity": required}


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({}, None),
        ({"nodeSelector": {}}, None),
        ({"affinity": {}}, None),
        ({"nodeSelector": {"zone": "b"}}, {"m"}),
        ({"nodeSelector": {"zone": "a", "disk": "fast"}}, {"n"}),
        ({"nodeSelector": {"zone": "b", "disk": "fast"}}, set()),
        ({"affinity": affinity("a", "b")}, {"n", "m"}),
        ({"affinity": affinity("a"), "nodeSelector": {"zone": "b"}}, set()),
        ({"affinity": {"nodeAffinity": {"preferredDuringScheduling": []}}}, None),
        ({"affinity": {"podAffinity": {"required": []}}}, "unclear"),
        ({"affinity": {"podAntiAffinity": {"required": []}}}, "unclear"),
        ({"affinity": affinity("a", operator="Near")}, "unclear"),
        ({"topologySpreadConstraints": [{}]}, "unclear"),
    ],
)
def test_where_a_pod_may_run(fields: dict[str, Any], names: Any) -> None:
    assert allowed(fields) == names


def test_without_nodes_a_choice_is_unclear() -> None:
    assert allowed({}, None) is None
    assert allowed({"nodeSelector": {"zone": "a"}}, None) == "unclear"


def zone(name: str, operator: str = "In") -> Object:
    return affinity(name, operator=operator)["nodeAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]


BY_NAME = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["m"]}]}


@pytest.mark.parametrize(
    ("selector", "nodes", "names"),
    [
        (zone("a"), NODES, {"n"}),
        (zone("a"), None, None),
        (zone("a", "Near"), NODES, None),
        ({"nodeSelectorTerms": [BY_NAME]}, NODES, {"m"}),
        ({"nodeSelectorTerms": [BY_NAME]}, None, {"m"}),
    ],
)
def test_where_an_allocated_claim_can_be_used(selector: Object, nodes: Any, names: Any) -> None:
    state = world_states.WorldState()
    state.nodes = nodes
    claim = worlds.claim("a", worlds.device("n", 0))
    claim["status"]["allocation"]["nodeSelector"] = selector
    known = stuck_objects.PodNodes(state, device_supply.DeviceSupply(state))
    assert known.of_claims([msgspec.convert(claim, observed_claims.Claim)]) == names


def asking(pod: Object, **requests: str) -> Object:
    container = {"name": "c", "resources": {"requests": requests}}
    return {**pod, "spec": {**pod["spec"], "containers": [container]}}


def node(**allocatable: str) -> Object:
    return {**worlds.node("n"), "status": {"allocatable": allocatable}}


RUNNING = worlds.pod("q", claim="b", phase="Running", node="n")
ENDED = worlds.pod("q", claim="b", phase="Succeeded", node="n")


@pytest.mark.parametrize(
    ("requests", "nodes", "other", "verdict"),
    [
        ({}, [], RUNNING, INVALID),
        ({}, [node(cpu="1", pods="10")], RUNNING, INVALID),
        ({"cpu": "0"}, [], RUNNING, INVALID),
        ({"cpu": "1"}, [], RUNNING, UNKNOWN),
        ({"cpu": "1"}, [node()], RUNNING, UNKNOWN),
        ({"cpu": "1"}, [node(cpu="1", pods="10")], RUNNING, INVALID),
        ({"cpu": "1001m"}, [node(cpu="1", pods="10")], RUNNING, UNKNOWN),
        ({"cpu": "1"}, [node(cpu="1500m", pods="10")], asking(RUNNING, cpu="500m"), INVALID),
        ({"cpu": "1"}, [node(cpu="1500m", pods="10")], asking(RUNNING, cpu="501m"), UNKNOWN),
        ({"memory": "1Gi"}, [node(cpu="1", pods="10")], RUNNING, UNKNOWN),
        ({}, [node(cpu="1", pods="1")], RUNNING, UNKNOWN),
        ({}, [node(cpu="1", pods="1")], ENDED, INVALID),
        ({"e.example/x": "1"}, [node(cpu="1", pods="10")], RUNNING, INVALID),
    ],
)
def test_a_pod_may_lack_room(
    requests: dict[str, str], nodes: list[Object], other: Object, verdict: verdicts.Verdict
) -> None:
    world = worlds.World(
        pods=[asking(worlds.pod("p", claim="a"), **requests), other],
        claims=[worlds.claim("a")],
        slices=[worlds.devices_of("n", 1)],
        nodes=nodes,
    )
    given = worlds.judged(world, plan=worlds.plan(), phases=worlds.phases(seconds=60))
    assert claim_progress.judge(given).verdict is verdict


IMPLICIT = f"deviceclass.resource.kubernetes.io/{worlds.CLASS}"


def container(amount: object, *, resource: str = IMPLICIT, **more: Any) -> Object:
    return {"name": "c", "resources": {"requests": {resource: str(amount)}}, **more}


@pytest.mark.parametrize("names", [{"claim": "a"}, {"generated": "a"}])
def test_a_pod_with_a_claim_of_its_own_needs_devices_for_both(names: dict[str, str]) -> None:
    both = worlds.pod("p", **names)
    both["spec"]["containers"] = [container(2)]
    owner = "p" if "generated" in names else ""
    for count, verdict in ((2, VALID), (3, INVALID)):
        slices = [worlds.devices_of("n", count)]
        claims = [worlds.claim("a", owner=owner)]
        world = worlds.World(pods=[both], claims=claims, slices=slices)
        given = worlds.judged(world, plan=worlds.plan(), phases=worlds.phases(seconds=60))
        assert claim_progress.judge(given).verdict is verdict


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
        ({"containers": [container("2k"), container(1, resource="example.com/other")]}, 0),
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
