"""ResourceSlices: pools, devices, counters."""

from typing import Any

import pytest

from harness.apiserver.validation import slices
from tests.support import cases

Document = dict[str, Any]
TERM = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}


def device_slice(*devices: Document, **spec: Any) -> Document:
    document: Document = {
        "driver": "d.example.com",
        "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
        "nodeName": "n",
        "devices": list(devices),
        **spec,
    }
    return {"spec": {key: value for key, value in document.items() if value is not None}}


def device(**fields: Any) -> Document:
    return {"name": "d0", **fields}


@pytest.mark.parametrize(("spec", "wrong"), cases.read(__file__, "slices"))
def test_slices(fields: Any, spec: Document, wrong: list[Any]) -> None:
    found = fields(slices.device_slice(device_slice(**spec)))
    assert found == list(map(tuple, wrong))


CONSUMED = {"counterSet": "c", "counters": {"a": {"value": "1"}}}
DEVICES = [
    (device(attributes={"a": {"string": ""}, "d/b": {"int": 0}}), []),
    (device(attributes={"a": {"version": "1.2.3"}}), []),
    (device(consumesCounters=[CONSUMED]), []),
    (device(bindingConditions=["ok"], bindingFailureConditions=["bad"]), []),
    (device(attributes={"a": {}}), [("attributes[a]", "Invalid")]),
    (device(attributes={"a": {"string": "x" * 65}}), [("attributes[a].string", "TooLong")]),
    (device(attributes={"a": {"version": "1.2"}}), [("attributes[a].version", "Invalid")]),
    (device(attributes={"a": {"bools": [True]}, "b": {"ints": [1] * 47}}), []),
    (device(attributes={"a": {"bools": [True, True]}, "b": {"ints": [1] * 47}}), [("", "Invalid")]),
    (device(attributes={"a": {"ints": []}}), [("attributes[a].ints", "Invalid")]),
    (device(attributes={"a": {"ints": [1], "int": 1}}), [("attributes[a]", "Invalid")]),
    (
        device(attributes={"a": {"strings": ["", "x" * 65]}}),
        [("attributes[a].strings[1]", "TooLong")],
    ),
    (device(attributes={"a": {"versions": ["1.2"]}}), [("attributes[a].versions[0]", "Invalid")]),
    (device(taints=[{"key": "a"}]), [("taints[0].effect", "Required")]),
    (device(taints=[{"key": "a", "effect": "None"}] * 17), [("taints", "TooMany")]),
    (device(consumesCounters=[CONSUMED] * 2), [("consumesCounters[1]", "Duplicate")]),
    (
        device(consumesCounters=[{}]),
        [
            ("consumesCounters[0].counterSet", "Required"),
            ("consumesCounters[0].counters", "Required"),
        ],
    ),
    (
        device(capacity={"m": {"value": "1", "requestPolicy": {}}}),
        [("capacity[m].requestPolicy", "Forbidden")],
    ),
    (
        device(bindingConditions=["a", "a"], bindingFailureConditions=["a"]),
        [("bindingConditions[1]", "Duplicate"), ("bindingFailureConditions[0]", "Invalid")],
    ),
    (device(bindingFailureConditions=["a"]), [("bindingConditions", "Invalid")]),
]


@pytest.mark.parametrize(("document", "wrong"), DEVICES)
def test_devices(fields: Any, document: Document, wrong: list[Any]) -> None:
    found = fields(slices.device_slice(device_slice(document)))
    at = "spec.devices[0]"
    assert found == [(f"{at}.{field}" if field else at, reason) for field, reason in wrong]


def test_a_list_halves_the_number_of_devices(fields: Any) -> None:
    many = [{"name": f"d{index}"} for index in range(64)]
    listed = device(name="x", attributes={"a": {"ints": [1]}})
    plain = device(name="x", attributes={"a": {"int": 1}})
    assert not fields(slices.device_slice(device_slice(*many, plain)))
    found = fields(slices.device_slice(device_slice(*many, listed)))
    assert found == [("spec.devices", "TooMany")]


def test_nodes_of_single_devices(fields: Any) -> None:
    wrong = [("spec.devices[0]", "Invalid")]
    assert fields(slices.device_slice(device_slice(device(nodeName="n")))) == wrong
    chooses: Document = {"nodeName": None, "perDeviceNodeSelection": True}
    either = device_slice(device(nodeName="n", allNodes=True), **chooses)
    assert fields(slices.device_slice(either)) == wrong


def test_long_names_are_cut_in_paths(fields: Any) -> None:
    name = "x" * 120
    found = fields(slices.device_slice(device_slice(device(attributes={name: {}}))))
    at = "spec.devices[0].attributes"
    assert found == [(at, "TooLong"), (f"{at}[{'x' * 47}...{'x' * 46}]", "Invalid")]


@pytest.mark.parametrize(("policy", "wrong"), cases.read(__file__, "policies"))
def test_request_policies(fields: Any, policy: Document, wrong: list[Any]) -> None:
    capacity = {"m": {"value": "10Gi", "requestPolicy": policy}}
    shared = device(allowMultipleAllocations=True, capacity=capacity)
    found = fields(slices.device_slice(device_slice(shared)))
    at = "spec.devices[0].capacity[m].requestPolicy"
    assert found == [(f"{at}{field}", reason) for field, reason in wrong]


def test_what_a_slice_keeps(fields: Any) -> None:
    old = device_slice(device())
    pool = {"name": "q", "generation": 0, "resourceSliceCount": 1}
    new = device_slice(driver="e.example.com", pool=pool, nodeName=None, allNodes=True)
    assert fields(slices.device_slice(new, old)) == [
        ("spec.pool.name", "Invalid"),
        ("spec.driver", "Invalid"),
        ("spec.nodeName", "Invalid"),
    ]


def test_what_is_stored_already_is_not_questioned(fields: Any) -> None:
    old = device_slice(device(taints=[{"key": "a", "effect": "Later"}]))
    same = device_slice(device(taints=[{"key": "a", "effect": "Later"}]), allNodes=None)
    assert fields(slices.device_slice(same, old)) == []
    assert fields(slices.device_slice(same)) == [
        ("spec.devices[0].taints[0].effect", "NotSupported")
    ]


def test_drivers_in_upper_case_are_warned_of() -> None:
    assert list(slices.warnings(device_slice())) == []
    (text,) = slices.warnings(device_slice(driver="D.example.com"))
    assert "D.example.com" in text


def test_taint_rules(fields: Any) -> None:
    selector = {"driver": "a b", "pool": "", "device": "D"}
    wrong = {"spec": {"deviceSelector": selector, "taint": {"key": "k", "effect": "Now"}}}
    assert fields(slices.taint_rule(wrong)) == [
        ("spec.deviceSelector.driver", "Invalid"),
        ("spec.deviceSelector.pool", "Required"),
        ("spec.deviceSelector.device", "Invalid"),
        ("spec.taint.effect", "NotSupported"),
    ]
    stored = {"spec": {"taint": {"key": "k", "effect": "Now"}}}
    assert fields(slices.taint_rule(stored, stored)) == []


def test_the_status_of_a_taint_rule(fields: Any) -> None:
    conditions = [
        {"type": f"T{n}", "status": "True", "reason": "R", "lastTransitionTime": "t"}
        for n in range(9)
    ]
    document = {"status": {"conditions": conditions}}
    assert fields(slices.taint_rule_status(document, {})) == [("status.conditions", "TooMany")]
