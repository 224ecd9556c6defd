"""Classes, taint rules, nodes, leases, config maps, secrets and events."""

import base64
from typing import Any

import pytest

from harness.apiserver.validation.core import config_maps, events, node_rules, small_kinds
from harness.apiserver.validation.dra import device_classes, device_taints
from harness.apiserver.validation.field import resource_requirements, selector_rules

Document = dict[str, Any]
NOT_BOOL = [{"cel": {"expression": "1"}}]


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("example.com/gpu", True),
        ("gpu", False),
        ("kubernetes.io/gpu", False),
        ("requests.example.com/gpu", False),
        ("example.com/", False),
    ],
)
def test_extended_resources(name: str, good: bool) -> None:
    assert resource_requirements.is_extended(name) is good


def test_classes(fields: Any) -> None:
    wrong = {"spec": {"selectors": NOT_BOOL, "config": [{}], "extendedResourceName": "gpu"}}
    assert fields(device_classes.device_class(wrong)) == [
        ("spec.selectors[0].cel.expression", "Invalid"),
        ("spec.config[0].opaque", "Required"),
        ("spec.extendedResourceName", "Invalid"),
    ]


def test_selectors_that_did_not_change_are_not_compiled_again(fields: Any) -> None:
    old = {"spec": {"selectors": NOT_BOOL}}
    assert fields(device_classes.device_class(old, old)) == []
    more = {"spec": {"selectors": [*NOT_BOOL, {"cel": {"expression": "true"}}]}}
    assert fields(device_classes.device_class(more, old)) == [
        ("spec.selectors[0].cel.expression", "Invalid")
    ]


def test_taint_rules(fields: Any) -> None:
    selector = {"driver": "a b", "pool": "", "device": "D"}
    wrong = {"spec": {"deviceSelector": selector, "taint": {"key": "k", "effect": "Now"}}}
    assert fields(device_taints.taint_rule(wrong)) == [
        ("spec.deviceSelector.driver", "Invalid"),
        ("spec.deviceSelector.pool", "Required"),
        ("spec.deviceSelector.device", "Invalid"),
        ("spec.taint.effect", "NotSupported"),
    ]
    stored = {"spec": {"taint": {"key": "k", "effect": "Now"}}}
    assert fields(device_taints.taint_rule(stored, stored)) == []


def test_the_status_of_a_taint_rule(fields: Any) -> None:
    conditions = [
        {"type": f"T{n}", "status": "True", "reason": "R", "lastTransitionTime": "t"}
        for n in range(9)
    ]
    document = {"status": {"conditions": conditions}}
    assert fields(device_taints.taint_rule_status(document, {})) == [
        ("status.conditions", "TooMany")
    ]


def test_nodes(lines: Any) -> None:
    twice = {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}] * 2}}
    assert lines(node_rules.node(twice)) == [
        (
            'metadata.taints[1]: Duplicate value: {"Key":"a","Value":"","Effect":"NoSchedule",'
            '"TimeAdded":null}: taints must be unique by key and effect pair'
        )
    ]
    known = {"spec": {"providerID": "a"}}
    assert lines(node_rules.node_change({"spec": {"providerID": "b"}}, known)) == [
        'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid'
    ]
    assert lines(node_rules.node_change(known, {"spec": {}})) == []


@pytest.mark.parametrize(
    ("term", "wrong"),
    [
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, []),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["x"]}]}, []),
        ({"matchExpressions": [{"key": "a", "operator": "In"}]}, [("values", "Required")]),
        (
            {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]},
            [("values", "Forbidden")],
        ),
        ({"matchExpressions": [{"key": "a", "operator": "Gt"}]}, [("values", "Required")]),
        (
            {"matchExpressions": [{"key": "a b", "operator": "Is", "values": ["x y"]}]},
            [("operator", "Invalid"), ("key", "Invalid"), ("values[0]", "Invalid")],
        ),
        (
            {"matchFields": [{"key": "spec.x", "operator": "Exists"}]},
            [("operator", "Invalid"), ("key", "Invalid")],
        ),
        (
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a", "B"]}]},
            [("values", "Required"), ("values[1]", "Invalid")],
        ),
    ],
)
def test_node_selectors(fields: Any, term: Document, wrong: list[Any]) -> None:
    found = fields(selector_rules.node_selector({"nodeSelectorTerms": [term]}, "s"))
    at = f"s.nodeSelectorTerms[0].{next(iter(term))}[0]"
    assert found == [(f"{at}.{field}", reason) for field, reason in wrong]


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ({}, []),
        ({"holderIdentity": "", "leaseDurationSeconds": 15, "leaseTransitions": 0}, []),
        ({"leaseDurationSeconds": 0}, [("spec.leaseDurationSeconds", "Invalid")]),
        ({"leaseTransitions": -1}, [("spec.leaseTransitions", "Invalid")]),
    ],
)
def test_leases(fields: Any, spec: Document, wrong: list[Any]) -> None:
    assert fields(small_kinds.lease({"spec": spec})) == wrong


def test_keys_and_size_of_config_maps(fields: Any) -> None:
    wrong = {"data": {"a b": "", "c": ""}, "binaryData": {"c": ""}}
    assert fields(config_maps.config_map(wrong)) == [
        ("data[a b]", "Invalid"),
        ("data[c]", "Invalid"),
    ]
    half = 512 * 1024
    binary = base64.b64encode(bytes(half)).decode()
    full = {"data": {"a": "x" * half}, "binaryData": {"b": binary}}
    assert fields(config_maps.config_map(full)) == []
    full["data"]["c"] = "x"
    assert fields(config_maps.config_map(full)) == [("[]", "TooLong")]


def test_immutable_config_maps_and_secrets(fields: Any) -> None:
    old = {"immutable": True, "data": {"a": "MQ=="}, "type": "Opaque"}
    new = {"data": {"a": "Mg=="}, "type": "other"}
    assert fields(config_maps.config_map_change(new, old)) == [
        ("immutable", "Forbidden"),
        ("data", "Forbidden"),
    ]
    assert fields(config_maps.secret_change(new, old)) == [
        ("type", "Invalid"),
        ("immutable", "Forbidden"),
        ("data", "Forbidden"),
    ]
    assert fields(config_maps.config_map_change(old, old)) == []


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
    assert fields(events.event(document)) == wrong


def test_a_series_of_events_has_several(fields: Any) -> None:
    wrong = [("series.count", "Invalid"), ("series.lastObservedTime", "Required")]
    assert fields(events.new_event(event(type="Normal", series={"count": 1}, **STYLED))) == wrong


def test_each_group_has_its_own_name_for_who_reports(fields: Any) -> None:
    anonymous = event(type="Normal", **STYLED | {"reportingComponent": "-"})
    assert fields(events.event(anonymous)) == [("reportingComponent", "Invalid")]
    assert fields(events.new_event(anonymous)) == [("reportingController", "Invalid")]


def test_events_under_their_newer_name_are_of_the_newer_style(fields: Any) -> None:
    assert fields(events.new_event(event(type="Normal", **STYLED))) == []
    assert fields(events.new_event(event(count=1))) == [
        ("eventTime", "Required"),
        ("type", "Invalid"),
        ("count", "Invalid"),
    ]
