"""Allocations as a scheduler writes them."""

from typing import Any

from harness.conformance.drivers import claim_documents, published_devices


def row(**device: Any) -> Any:
    item = {
        "spec": {
            "driver": "d.example",
            "nodeName": "node-1",
            "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "x", **device}],
        }
    }
    devices = published_devices.of_driver([item], "d.example", "node-1")
    wanted = claim_documents.Wanted(devices=devices)
    spec = claim_documents.spec(wanted, "class", {})
    status = claim_documents.status(wanted, spec, driver="d.example", pod=("pod", "uid"))
    return status["allocation"]["devices"]["results"][0]


def test_a_shared_device_is_consumed() -> None:
    """By the default of its policy; without a policy the scheduler gives all of it."""
    capacity = {"cpu": {"value": "2"}, "m": {"value": "8Gi", "requestPolicy": {"default": "1Gi"}}}
    found = row(allowMultipleAllocations=True, capacity=capacity)
    assert found["consumedCapacity"] == {"cpu": "2", "m": "1Gi"}
    assert found["shareID"]


def test_other_devices_are_not() -> None:
    found = row(capacity={"cpu": {"value": "2"}})
    assert "consumedCapacity" not in found
    assert "shareID" not in found
