"""Affinity, topology spread constraints and tolerations."""

from typing import Any

import pytest

from harness.apiserver.validation.pod import scheduling_constraints

Document = dict[str, Any]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def nodes(**fields: Any) -> Document:
    requirement = {"key": "k", "operator": "In", "values": ["v"], **fields}
    return {
        "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}}
    }


def preferred_nodes(weight: int, value: str) -> Document:
    requirement = {"key": "k", "operator": "In", "values": [value]}
    term = {"weight": weight, "preference": {"matchExpressions": [requirement]}}
    return {"nodeAffinity": {PREFERRED: [term]}}


def pods(**fields: Any) -> Document:
    return {"podAntiAffinity": {REQUIRED: [{"topologyKey": "zone", **fields}]}}


TERM = f"a.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0]"
PODS = f"a.podAntiAffinity.{REQUIRED}[0]"
CASES = [
    (nodes(), []),
    (nodes(values=["-"]), [(f"{TERM}.values[0]", "Invalid")]),
    (nodes(operator="x"), [(f"{TERM}.operator", "Invalid")]),
    (
        {"nodeAffinity": {REQUIRED: {}}},
        [(f"a.nodeAffinity.{REQUIRED}.nodeSelectorTerms", "Required")],
    ),
    (preferred_nodes(100, "-"), []),
    (preferred_nodes(101, "v"), [(f"a.nodeAffinity.{PREFERRED}[0].weight", "Invalid")]),
    (pods(labelSelector={"matchLabels": {"a": "b"}}, namespaces=["x"]), []),
    (pods(topologyKey="a b"), [(f"{PODS}.topologyKey", "Invalid")]),
    (pods(namespaces=["X"]), [(f"{PODS}.namespace", "Invalid")]),
    (
        pods(labelSelector={"matchExpressions": [{"key": "k", "operator": "In"}]}),
        [(f"{PODS}.labelSelector.matchExpressions[0].values", "Required")],
    ),
    (
        pods(labelSelector={"matchExpressions": [{"key": "k", "operator": "x"}]}),
        [(f"{PODS}.labelSelector.matchExpressions[0].operator", "Invalid")],
    ),
    (pods(matchLabelKeys=["a"]), [(f"{PODS}.matchLabelKeys", "Forbidden")]),
    (
        pods(matchLabelKeys=["a"], mismatchLabelKeys=["a"], labelSelector={}),
        [(f"{PODS}.matchLabelKeys[0]", "Invalid")],
    ),
]


@pytest.mark.parametrize(("affinity", "wrong"), CASES)
def test_affinities(fields: Any, affinity: Document, wrong: list[Any]) -> None:
    assert fields(scheduling_constraints.affinity(affinity, "a")) == wrong


def test_weights_of_pods(fields: Any) -> None:
    term = {"weight": 0, "podAffinityTerm": {"topologyKey": "z"}}
    wrong = [(f"a.podAffinity.{PREFERRED}[0].weight", "Invalid")]
    assert (
        fields(scheduling_constraints.affinity({"podAffinity": {PREFERRED: [term]}}, "a")) == wrong
    )


SPREAD: Document = {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}
SPREADS = [
    ([SPREAD, SPREAD | {"whenUnsatisfiable": "ScheduleAnyway"}], []),
    ([SPREAD, SPREAD], [("t[0].{topologyKey, whenUnsatisfiable}", "Duplicate")]),
    ([SPREAD | {"maxSkew": 0}], [("t[0].maxSkew", "Invalid")]),
    ([SPREAD | {"topologyKey": ""}], [("t[0].topologyKey", "Required")]),
    ([SPREAD | {"whenUnsatisfiable": "x"}], [("t[0].whenUnsatisfiable", "NotSupported")]),
    ([SPREAD | {"nodeTaintsPolicy": "x"}], [("t[0].nodeTaintsPolicy", "NotSupported")]),
    ([SPREAD | {"minDomains": 0}], [("t[0].minDomains", "Invalid")]),
    (
        [SPREAD | {"minDomains": 1, "whenUnsatisfiable": "ScheduleAnyway"}],
        [("t[0].minDomains", "Invalid")],
    ),
    ([SPREAD | {"matchLabelKeys": ["a"]}], [("t[0].matchLabelKeys", "Forbidden")]),
    (
        [SPREAD | {"matchLabelKeys": ["a"], "labelSelector": {"matchLabels": {"a": "b"}}}],
        [("t[0].matchLabelKeys[0]", "Invalid")],
    ),
    (
        [SPREAD | {"labelSelector": {"matchLabels": {"a": "-"}}}],
        [("t[0].labelSelector.matchLabels", "Invalid")],
    ),
]


@pytest.mark.parametrize(("constraints", "wrong"), SPREADS)
def test_spread(fields: Any, constraints: list[Document], wrong: list[Any]) -> None:
    assert fields(scheduling_constraints.topology_spread(constraints, "t")) == wrong


TOLERATIONS = [
    ({"key": "k", "operator": "Equal", "value": "v", "effect": "NoExecute"}, []),
    ({"operator": "Exists"}, []),
    ({"key": "k", "effect": "NoExecute", "tolerationSeconds": 0}, []),
    ({}, [("t[0].operator", "Invalid")]),
    ({"key": "-"}, [("t[0].key", "Invalid")]),
    ({"key": "k", "value": "-"}, [("t[0].operator", "Invalid")]),
    ({"key": "k", "operator": "Exists", "value": "v"}, [("t[0].operator", "Invalid")]),
    ({"key": "k", "operator": "x"}, [("t[0].operator", "NotSupported")]),
    ({"key": "k", "effect": "x"}, [("t[0].effect", "NotSupported")]),
    ({"key": "k", "tolerationSeconds": 1}, [("t[0].effect", "Invalid")]),
]


@pytest.mark.parametrize(("toleration", "wrong"), TOLERATIONS)
def test_tolerations(fields: Any, toleration: Document, wrong: list[Any]) -> None:
    assert fields(scheduling_constraints.tolerations([toleration], "t")) == wrong
