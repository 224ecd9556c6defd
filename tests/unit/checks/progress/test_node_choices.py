"""The nodes on which a pod may run; a pod waits rightly where CPU, memory or places are used up."""

from typing import Any

import msgspec
import pytest

from harness.checks import verdicts
from harness.checks.observed import observed_pods
from harness.checks.progress import claim_progress, node_choices
from tests.histories import worlds

Object = dict[str, Any]
INVALID, UNKNOWN = verdicts.Verdict.INVALID, verdicts.Verdict.UNKNOWN

NODES = {"n": {"zone": "a", "disk": "fast"}, "m": {"zone": "b"}}


def spec(**fields: Any) -> observed_pods.PodSpec:
    return msgspec.convert(fields, observed_pods.PodSpec)


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
    ],
)
def test_where_a_pod_may_run(fields: dict[str, Any], names: set[str] | None) -> None:
    assert node_choices.allowed(spec(**fields), NODES) == names


@pytest.mark.parametrize(
    "fields",
    [
        {"affinity": {"podAffinity": {"required": []}}},
        {"affinity": {"podAntiAffinity": {"required": []}}},
        {"affinity": affinity("a", operator="Near")},
    ],
)
def test_what_an_observer_cannot_tell(fields: dict[str, Any]) -> None:
    with pytest.raises(node_choices.UnclearError):
        node_choices.allowed(spec(**fields), NODES)


def test_without_nodes_a_choice_is_unclear() -> None:
    assert node_choices.allowed(spec(), None) is None
    with pytest.raises(node_choices.UnclearError):
        node_choices.allowed(spec(nodeSelector={"zone": "a"}), None)


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
    assert claim_progress.check(given).verdict is verdict
