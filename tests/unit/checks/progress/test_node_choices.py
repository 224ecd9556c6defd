"""The nodes on which a pod may run."""

from typing import Any

import msgspec
import pytest

from harness.checks.observed import observed_pods
from harness.checks.progress import node_choices

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
