"""Which node may have a pod, and which may use a device."""

from typing import Any

import pytest

from harness.subject.objects import nodes
from tests.support import api_objects

Object = dict[str, Any]
TAINT = {"key": "k", "value": "v", "effect": "NoSchedule"}


def affinity(operator: str, *values: str) -> Object:
    required = {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": "a", "operator": operator, "values": list(values)}]}
        ]
    }
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    return {"affinity": {"nodeAffinity": {key: required}}}


def with_spec(**spec: Any) -> Object:
    made = api_objects.known_pod("p")
    return {**made, "spec": {**made["spec"], **spec}}


CORDONED = "node(s) were unschedulable"
TAINTED = "node(s) had untolerated taint(s)"
ELSEWHERE = "node(s) didn't match Pod's node affinity/selector"
"""In the words of kube-scheduler."""


@pytest.mark.parametrize(
    ("node", "pod", "reason"),
    [
        ({}, {}, None),
        ({"unschedulable": True}, {}, CORDONED),
        ({"taints": [TAINT]}, {}, TAINTED),
        ({"taints": [{**TAINT, "effect": "NoExecute"}]}, {}, TAINTED),
        ({"taints": [{**TAINT, "effect": "PreferNoSchedule"}]}, {}, None),
        ({"taints": [TAINT]}, {"tolerations": [{"key": "k", "value": "v"}]}, None),
        ({"taints": [TAINT]}, {"tolerations": [{"key": "k", "value": "w"}]}, TAINTED),
        ({"taints": [TAINT]}, {"tolerations": [{"key": "k", "operator": "Exists"}]}, None),
        ({"taints": [TAINT]}, {"tolerations": [{"key": "x", "operator": "Exists"}]}, TAINTED),
        ({"taints": [TAINT]}, {"tolerations": [{"operator": "Exists"}]}, None),
        (
            {"taints": [TAINT]},
            {"tolerations": [{"operator": "Exists", "effect": "NoExecute"}]},
            TAINTED,
        ),
        ({"labels": {"a": "1", "b": "2"}}, {"nodeSelector": {"a": "1"}}, None),
        ({"labels": {"a": "1"}}, {"nodeSelector": {"a": "2"}}, ELSEWHERE),
        ({"labels": {}}, {"nodeSelector": {"a": "1"}}, ELSEWHERE),
        ({"labels": {"a": "1"}}, affinity("In", "1", "2"), None),
        ({"labels": {"a": "3"}}, affinity("In", "1", "2"), ELSEWHERE),
        ({"labels": {}}, affinity("DoesNotExist"), None),
        ({}, {"affinity": {"nodeAffinity": {}}}, None),
        ({}, {"affinity": {"podAffinity": {}}}, None),
    ],
)
def test_why_a_node_refuses_a_pod(node: Object, pod: Object, reason: str | None) -> None:
    assert nodes.refusal(api_objects.node(**node), with_spec(**pod)) == reason


def expression(operator: str, *values: str, key: str = "zone") -> Object:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (expression("In", "a", "b"), True),
        (expression("In", "b"), False),
        (expression("NotIn", "b"), True),
        (expression("NotIn", "a"), False),
        (expression("NotIn", "a", key="other"), True),
        (expression("Exists"), True),
        (expression("Exists", key="other"), False),
        (expression("DoesNotExist"), False),
        (expression("DoesNotExist", key="other"), True),
        (expression("Gt", "4", key="number"), True),
        (expression("Gt", "5", key="number"), False),
        (expression("Lt", "10", key="number"), True),
        (expression("Lt", "10", key="other"), False),
        (expression("Gt", "4", key="zone"), False),
        (expression("Lt", "4", key="zone"), False),
        (expression("Gt", "x", key="number"), False),
        (expression("Lt", "1_0", key="number"), False),
    ],
)
def test_the_operators_of_a_selector(item: Object, expected: bool) -> None:
    node = api_objects.node(labels={"zone": "a", "number": "5"})
    assert nodes.selects({"nodeSelectorTerms": [{"matchExpressions": [item]}]}, node) is expected


def test_an_operator_that_is_not_known() -> None:
    selector = {"nodeSelectorTerms": [{"matchExpressions": [expression("Near", "a")]}]}
    with pytest.raises(nodes.SelectorError, match="got 'Near'"):
        nodes.selects(selector, api_objects.node(labels={"zone": "a"}))


IN_A = {"matchExpressions": [expression("In", "a")]}
IN_BOTH = {"matchExpressions": [expression("In", "a"), expression("In", "b")]}


@pytest.mark.parametrize(
    ("terms", "expected"), [([IN_BOTH], False), ([IN_BOTH, IN_A], True), ([], False), ([{}], False)]
)
def test_any_term_with_all_its_expressions(terms: list[Object], expected: bool) -> None:
    node = api_objects.node(labels={"zone": "a"})
    assert nodes.selects({"nodeSelectorTerms": terms}, node) is expected
    assert nodes.selects(None, node)


def test_the_selector_of_one_node() -> None:
    assert nodes.selects(nodes.only("worker-0"), api_objects.node("worker-0"))
    assert not nodes.selects(nodes.only("worker-0"), api_objects.node("worker-1"))
