"""ResourceSlices: pools, devices, counters."""

from typing import Any

from harness.apiserver.validation import slices

Document = dict[str, Any]


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


DEVICES = [
    (device(attributes={"a": {"bools": [True]}, "b": {"ints": [1] * 47}}), []),
    (device(attributes={"a": {"bools": [True, True]}, "b": {"ints": [1] * 47}}), [("", "Invalid")]),
    (device(attributes={"a": {"ints": []}}), [("attributes[a].ints", "Invalid")]),
    (device(attributes={"a": {"ints": [1], "int": 1}}), [("attributes[a]", "Invalid")]),
    (
        device(attributes={"a": {"strings": ["", "x" * 65]}}),
        [("attributes[a].strings[1]", "TooLong")],
    ),
    (device(attributes={"a": {"versions": ["1.2"]}}), [("attributes[a].versions[0]", "Invalid")]),
    (
        device(capacity={"m": {"value": "1", "requestPolicy": {}}}),
        [("capacity[m].requestPolicy", "Forbidden")],
    ),
]


def test_devices(fields: Any) -> None:
    at = "spec.devices[0]"
    for document, wrong in DEVICES:
        found = fields(slices.device_slice(device_slice(document)))
        expected = [(f"{at}.{field}" if field else at, reason) for field, reason in wrong]
        assert found == expected, document


def test_a_list_halves_the_number_of_devices(fields: Any) -> None:
    many = [{"name": f"d{index}"} for index in range(64)]
    listed = device(name="x", attributes={"a": {"ints": [1]}})
    plain = device(name="x", attributes={"a": {"int": 1}})
    assert not fields(slices.device_slice(device_slice(*many, plain)))
    found = fields(slices.device_slice(device_slice(*many, listed)))
    assert found == [("spec.devices", "TooMany")]


def test_what_is_stored_already_is_not_questioned(fields: Any) -> None:
    old = device_slice(device(taints=[{"key": "a", "effect": "Later"}]))
    same = device_slice(device(taints=[{"key": "a", "effect": "Later"}]), allNodes=None)
    assert fields(slices.device_slice(same, old)) == []
    assert fields(slices.device_slice(same)) == [
        ("spec.devices[0].taints[0].effect", "NotSupported")
    ]


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
