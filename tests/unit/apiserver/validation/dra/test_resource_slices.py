"""ResourceSlices: pools, devices, counters."""

from typing import Any

import pytest

from harness.apiserver.validation.dra import resource_slices

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


SPECS = [
    ({"nodeName": None, "nodeSelector": {"nodeSelectorTerms": [TERM]}}, []),
    ({"nodeName": None, "allNodes": True}, []),
    ({"nodeName": None, "perDeviceNodeSelection": True, "devices": [device(allNodes=True)]}, []),
    ({"devices": None, "sharedCounters": [{"name": "c", "counters": {"a": {"value": "1"}}}]}, []),
    ({"nodeName": "", "allNodes": True}, [("spec.nodeName", "Invalid")]),
    ({"allNodes": False}, [("spec.allNodes", "Invalid")]),
    ({"nodeName": None}, [("spec", "Required")]),
    ({"allNodes": True}, [("spec", "Invalid")]),
    (
        {"nodeName": None, "nodeSelector": {"nodeSelectorTerms": [TERM, TERM]}},
        [("spec.nodeSelector.nodeSelectorTerms", "Invalid")],
    ),
    ({"pool": {"name": "p"}}, [("spec.pool.resourceSliceCount", "Invalid")]),
    ({"sharedCounters": [{"name": "c", "counters": {"a": {}}}]}, [("spec", "Invalid")]),
    (
        {"devices": None, "sharedCounters": [{"name": "C", "counters": {}}]},
        [
            ("spec.sharedCounters[0].name", "Invalid"),
            ("spec.sharedCounters[0].counters", "Required"),
        ],
    ),
    (
        {"devices": None, "sharedCounters": [{"name": "c", "counters": {"A_": {}}}] * 2},
        [
            ("spec.sharedCounters[0].counters", "Invalid"),
            ("spec.sharedCounters[1].counters", "Invalid"),
            ("spec.sharedCounters[1]", "Duplicate"),
        ],
    ),
]


@pytest.mark.parametrize(("spec", "wrong"), SPECS)
def test_slices(fields: Any, spec: Document, wrong: list[Any]) -> None:
    assert fields(resource_slices.device_slice(device_slice(**spec))) == wrong


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
    found = fields(resource_slices.device_slice(device_slice(document)))
    at = "spec.devices[0]"
    assert found == [(f"{at}.{field}" if field else at, reason) for field, reason in wrong]


def test_a_list_halves_the_number_of_devices(fields: Any) -> None:
    many = [{"name": f"d{index}"} for index in range(64)]
    listed = device(name="x", attributes={"a": {"ints": [1]}})
    plain = device(name="x", attributes={"a": {"int": 1}})
    assert not fields(resource_slices.device_slice(device_slice(*many, plain)))
    found = fields(resource_slices.device_slice(device_slice(*many, listed)))
    assert found == [("spec.devices", "TooMany")]


def test_nodes_of_single_devices(lines: Any) -> None:
    (line,) = lines(resource_slices.device_slice(device_slice(device(nodeName="n"))))
    assert line.startswith("spec.devices[0]: Invalid value: null: `nodeName`, `nodeSelector` and")
    chooses: Document = {"nodeName": None, "perDeviceNodeSelection": True}
    either = device_slice(device(nodeName="n", allNodes=True), **chooses)
    (line,) = lines(resource_slices.device_slice(either))
    assert line.startswith(
        'spec.devices[0]: Invalid value: "{`nodeName`, `allNodes`}": exactly one'
    )


def test_long_names_are_cut_in_paths(fields: Any) -> None:
    name = "x" * 120
    found = fields(resource_slices.device_slice(device_slice(device(attributes={name: {}}))))
    at = "spec.devices[0].attributes"
    assert found == [(at, "TooLong"), (f"{at}[{'x' * 47}...{'x' * 46}]", "Invalid")]


def policy(value: str = "10Gi", **policy: Any) -> Document:
    return device(
        allowMultipleAllocations=True, capacity={"m": {"value": value, "requestPolicy": policy}}
    )


POLICIES = [
    (policy(), []),
    (policy(default="1Gi"), []),
    (policy(default="1Gi", validValues=["1Gi", "2Gi"]), []),
    (policy(default="1024Mi", validRange={"min": "1Gi", "max": "4Gi", "step": "1Gi"}), []),
    (
        policy(validValues=["1Gi"]),
        [".default: Required value: required when validValues is defined"],
    ),
    (
        policy(default="3Gi", validValues=["2Gi", "1Gi"]),
        [
            '.validValues[1]: Invalid value: "1Gi": values must be sorted in ascending order',
            '.validValues: Invalid value: "3Gi": default value is not valid according to the requestPolicy',
        ],
    ),
    (
        policy(default="1Gi", validValues=["1Gi", "1024Mi"]),
        ['.validValues[1]: Duplicate value: "1073741824"'],
    ),
    (
        policy(default="1Gi", validRange={"max": "20Gi"}),
        [".validRange.min: Required value: required when validRange is defined"],
    ),
    (
        policy(default="1Gi", validRange={"min": "1Gi", "max": "20Gi"}),
        ['.validRange.max: Invalid value: "20Gi": max is larger than capacity value: 10Gi'],
    ),
    (
        policy(default="1Gi", validRange={"min": "1Gi", "max": "4Gi", "step": "2Gi"}),
        [
            '.validRange.step: Invalid value: "4Gi": value is not a multiple of a given step (2Gi) from (1Gi)'
        ],
    ),
    (
        policy(default="8Gi", validRange={"min": "8Gi", "step": "3Gi"}),
        [
            '.validRange.step: Invalid value: "3Gi": one step 11Gi is larger than capacity value: 10Gi'
        ],
    ),
    (
        policy(default="1Gi", validRange={"min": "1Gi", "step": "-1"}),
        ['.validRange.step: Invalid value: "-1": must be greater than zero'],
    ),
]


@pytest.mark.parametrize(("document", "wrong"), POLICIES)
def test_request_policies(lines: Any, document: Document, wrong: list[str]) -> None:
    found = lines(resource_slices.device_slice(device_slice(document)))
    assert found == [f"spec.devices[0].capacity[m].requestPolicy{line}" for line in wrong]


def test_what_a_slice_keeps(lines: Any) -> None:
    old = device_slice(device())
    pool = {"name": "q", "generation": 0, "resourceSliceCount": 1}
    new = device_slice(driver="e.example.com", pool=pool, nodeName=None, allNodes=True)
    assert lines(resource_slices.device_slice(new, old)) == [
        'spec.pool.name: Invalid value: "q": field is immutable',
        'spec.driver: Invalid value: "e.example.com": field is immutable',
        "spec.nodeName: Invalid value: null: field is immutable",
    ]


def test_what_is_stored_already_is_not_questioned(fields: Any) -> None:
    old = device_slice(device(taints=[{"key": "a", "effect": "Later"}]))
    same = device_slice(device(taints=[{"key": "a", "effect": "Later"}]), allNodes=None)
    assert fields(resource_slices.device_slice(same, old)) == []
    assert fields(resource_slices.device_slice(same)) == [
        ("spec.devices[0].taints[0].effect", "NotSupported")
    ]


def test_drivers_in_upper_case_are_warned_of() -> None:
    assert list(resource_slices.warnings(device_slice())) == []
    (text,) = resource_slices.warnings(device_slice(driver="D.example.com"))
    assert text == (
        'spec.driver: driver names should be lowercase; "D.example.com" contains uppercase characters'
    )
