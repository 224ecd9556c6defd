"""Which node may have a pod, and which may use a device."""

from typing import Any

import pytest

from harness.subject.objects import nodes
from tests.support import api_objects, cases

Object = dict[str, Any]


def with_spec(**spec: Any) -> Object:
    made = api_objects.known_pod("p")
    return {**made, "spec": {**made["spec"], **spec}}


@pytest.mark.parametrize(("node", "pod", "reason"), cases.read(__file__, "refusals"))
def test_why_a_node_refuses_a_pod(node: Object, pod: Object, reason: str | None) -> None:
    assert nodes.refusal(api_objects.node(**node), with_spec(**pod)) == reason


def expression(operator: str, *values: str) -> Object:
    return {"key": "zone", "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("key", "operator", "values", "expected"), cases.read(__file__, "operators")
)
def test_the_operators_of_a_selector(
    key: str, operator: str, values: list[str], *, expected: bool
) -> None:
    node = api_objects.node(labels={"zone": "a", "number": "5"})
    item = {**expression(operator, *values), "key": key}
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
