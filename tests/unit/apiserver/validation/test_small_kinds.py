"""PriorityClasses, leases, namespaces, nodes, events and ConfigMaps."""

import base64
from typing import Any

import pytest

from harness.apiserver.validation import small_kinds

Document = dict[str, Any]


def priority_class(name: str = "p", value: int = 1, **fields: Any) -> Document:
    return {"metadata": {"name": name}, "value": value, **fields}


CLASSES = [
    (priority_class(preemptionPolicy="Never"), []),
    (priority_class("system-node-critical", 2_000_001_000), []),
    (priority_class(value=1_000_000_001), [("value", "Forbidden")]),
    (priority_class("system-x"), [("metadata.name", "Forbidden")]),
    (priority_class("system-node-critical"), [("metadata.name", "Forbidden")]),
    (
        priority_class("system-cluster-critical", 2_000_000_000, globalDefault=True),
        [("metadata.name", "Forbidden")],
    ),
    (priority_class(preemptionPolicy=""), [("preemptionPolicy", "Required")]),
    (priority_class(preemptionPolicy="x"), [("preemptionPolicy", "NotSupported")]),
]


@pytest.mark.parametrize(("document", "wrong"), CLASSES)
def test_new_classes(fields: Any, document: Document, wrong: list[Any]) -> None:
    assert fields(small_kinds.priority_class(document)) == wrong


def test_neither_value_nor_policy_changes(fields: Any) -> None:
    old = priority_class(preemptionPolicy="Never")
    assert fields(small_kinds.priority_class_change(old | {"description": "d"}, old)) == []
    new = priority_class(value=2, preemptionPolicy="PreemptLowerPriority")
    wrong = [("value", "Forbidden"), ("preemptionPolicy", "Invalid")]
    assert fields(small_kinds.priority_class_change(new, old)) == wrong


def test_finalizers_are_known_or_have_a_domain(fields: Any) -> None:
    found = {"spec": {"finalizers": ["kubernetes", "a.b/c", "other"]}}
    assert fields(small_kinds.namespace(found)) == [("spec.finalizers", "Invalid")]


def node(*ranges: str, **status: Any) -> Document:
    return {"spec": {"podCIDRs": list(ranges)}, "status": status}


NODES = [
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


@pytest.mark.parametrize(("document", "wrong"), NODES)
def test_new_nodes(fields: Any, document: Document, wrong: list[Any]) -> None:
    assert fields(small_kinds.node(document)) == wrong


def test_ranges_are_given_once(fields: Any) -> None:
    old = node("10.0.0.0/24")
    assert fields(small_kinds.node_change(old, node())) == []
    wrong = [("spec.podCIDRs", "Forbidden")]
    assert fields(small_kinds.node_change(node("10.1.0.0/24"), old)) == wrong
    assert fields(small_kinds.node_change(node(), old)) == wrong


def test_taints_and_providers(fields: Any) -> None:
    twice = {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}] * 2}}
    assert fields(small_kinds.node(twice)) == [("metadata.taints[1]", "Duplicate")]
    known = {"spec": {"providerID": "a"}}
    wrong = [("spec.providerID", "Forbidden")]
    assert fields(small_kinds.node_change({"spec": {"providerID": "b"}}, known)) == wrong
    assert fields(small_kinds.node_change(known, {"spec": {}})) == []


def event(namespace: str = "default", place: str = "default", **fields: Any) -> Document:
    meta = {"name": "e", "namespace": namespace}
    return {"metadata": meta, "involvedObject": {"namespace": place}, **fields}


STYLED = {
    "eventTime": "2026-01-01T00:00:00.000000Z",
    "reportingComponent": "x",
    "reportingInstance": "y",
    "action": "a",
    "reason": "r",
}


@pytest.mark.parametrize(
    ("document", "wrong"),
    [
        (event(), []),
        (event(place=""), []),
        (event("other", ""), [("involvedObject.namespace", "Invalid")]),
        (event("other", "default"), [("involvedObject.namespace", "Invalid")]),
        (event(**STYLED), []),
        (event("kube-system", "", **STYLED), []),
        (
            event(**STYLED | {"action": "", "reason": "r" * 129, "message": "m" * 1025}),
            [("action", "Required"), ("reason", "Invalid"), ("message", "Invalid")],
        ),
    ],
)
def test_events(fields: Any, document: Document, wrong: list[Any]) -> None:
    assert fields(small_kinds.event(document)) == wrong


def test_a_series_has_at_least_two_events(fields: Any) -> None:
    wrong = [("series.count", "Invalid"), ("series.lastObservedTime", "Required")]
    assert (
        fields(small_kinds.new_event(event(type="Normal", series={"count": 1}, **STYLED))) == wrong
    )


def test_each_group_names_the_controller_differently(fields: Any) -> None:
    anonymous = event(type="Normal", **STYLED | {"reportingComponent": "-"})
    assert fields(small_kinds.event(anonymous)) == [("reportingComponent", "Invalid")]
    assert fields(small_kinds.new_event(anonymous)) == [("reportingController", "Invalid")]


def test_events_of_the_new_group_need_an_event_time(fields: Any) -> None:
    assert fields(small_kinds.new_event(event(type="Normal", **STYLED))) == []
    assert fields(small_kinds.new_event(event(count=1))) == [
        ("eventTime", "Required"),
        ("type", "Invalid"),
        ("count", "Invalid"),
    ]


def test_keys_and_size_of_config_maps(fields: Any) -> None:
    wrong = {"data": {"a b": "", "c": ""}, "binaryData": {"c": ""}}
    assert fields(small_kinds.config_map(wrong)) == [
        ("data[a b]", "Invalid"),
        ("data[c]", "Invalid"),
    ]
    half = 512 * 1024
    binary = base64.b64encode(bytes(half)).decode()
    full = {"data": {"a": "x" * half}, "binaryData": {"b": binary}}
    assert fields(small_kinds.config_map(full)) == []
    full["data"]["c"] = "x"
    assert fields(small_kinds.config_map(full)) == [("[]", "TooLong")]
