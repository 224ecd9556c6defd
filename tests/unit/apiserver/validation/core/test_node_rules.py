"""Nodes: taints, pod CIDRs, capacity, provider ID."""

from typing import Any

import pytest

from harness.apiserver.validation.core import small_kinds

Document = dict[str, Any]


def node(*ranges: str, **status: Any) -> Document:
    return {"spec": {"podCIDRs": list(ranges)}, "status": status}


CASES = [
    (node("10.0.0.0/24", "fd00::/64"), []),
    (node("10.0.0.0"), [("spec.podCIDRs[0]", "Invalid")]),
    (node("10.0.0.0/33"), [("spec.podCIDRs[0]", "Invalid")]),
    (node("10.0.0.0/24", "10.1.0.0/24"), [("spec.podCIDRs", "Invalid")]),
    (
        node("10.0.0.0/24", "10.0.0.0/24"),
        [("spec.podCIDRs", "Invalid"), ("spec.podCIDRs[1]", "Duplicate")],
    ),
    (node(capacity={"cpu": "500m", "a.b/g": "1"}), []),
    (node(capacity={"cpu": "-1"}), [("status.capacity.cpu", "Invalid")]),
    (node(allocatable={"a.b/g": "500m"}), [("status.allocatable.a.b/g", "Invalid")]),
]


@pytest.mark.parametrize(("document", "wrong"), CASES)
def test_new_nodes(fields: Any, document: Document, wrong: list[Any]) -> None:
    assert fields(small_kinds.node(document)) == wrong


def test_ranges_are_given_once(fields: Any) -> None:
    old = node("10.0.0.0/24")
    assert fields(small_kinds.node_change(old, node())) == []
    wrong = [("spec.podCIDRs", "Forbidden")]
    assert fields(small_kinds.node_change(node("10.1.0.0/24"), old)) == wrong
    assert fields(small_kinds.node_change(node(), old)) == wrong


def test_nodes(lines: Any) -> None:
    twice = {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}] * 2}}
    assert lines(small_kinds.node(twice)) == [
        (
            'metadata.taints[1]: Duplicate value: {"key":"a","effect":"NoSchedule"}: '
            "taints must be unique by key and effect pair"
        )
    ]
    known = {"spec": {"providerID": "a"}}
    assert lines(small_kinds.node_change({"spec": {"providerID": "b"}}, known)) == [
        'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid'
    ]
    assert lines(small_kinds.node_change(known, {"spec": {}})) == []
