"""The nodes on which a pod may run; a pod waits rightly where CPU, memory or places are used up."""

from typing import Any

import msgspec
import pytest

from harness.checks import verdicts
from harness.checks.observed import observed_pods
from harness.checks.progress import claim_progress, device_supply, stuck_objects, world_states
from tests.histories import worlds

Object = dict[str, Any]
INVALID, UNKNOWN = verdicts.Verdict.INVALID, verdicts.Verdict.UNKNOWN

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
