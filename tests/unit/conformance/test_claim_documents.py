"""Allocations as a scheduler writes them."""

from typing import Any

import pytest

from harness.conformance import allocations, claim_documents


def slice_of(**spec: Any) -> Any:
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    about = {"driver": "d.example", "nodeName": "node-1", "pool": pool}
    return {"metadata": {"name": "s"}, "spec": {**about, **spec}}


def of_slice(*devices: Any) -> list[allocations.Device]:
    return allocations.of_driver([slice_of(devices=[*devices])], "d.example", "node-1")


def row(**device: Any) -> Any:
    wanted = claim_documents.Wanted(devices=of_slice({"name": "x", **device}))
    return wanted.allocation("d.example")["results"][0]


def test_a_shared_device_is_consumed() -> None:
    """By the least of its policy; without one by a whole part, so that several claims fit."""
    policy = {"default": "2Gi", "validRange": {"min": "1Gi"}}
    capacity = {"cpu": {"value": "20"}, "m": {"value": "8Gi", "requestPolicy": policy}}
    found = row(allowMultipleAllocations=True, capacity=capacity)
    assert found["consumedCapacity"] == {"cpu": "2", "m": "1Gi"}
    assert found["shareID"]


def test_other_devices_are_not() -> None:
    found = row(capacity={"cpu": {"value": "2"}})
    assert "consumedCapacity" not in found
    assert "shareID" not in found


@pytest.mark.parametrize(
    ("value", "policy", "places"),
    [
        ("1Pi", {}, 8),
        ("800u", {}, 1),
        ("3", {}, 3),
        ("3", {"default": "3"}, 1),
        ("10", {"validValues": ["5", "2", "0"]}, 5),
        ("0", {}, 8),
    ],
)
def test_as_many_claims_share_a_device_as_its_capacity_lets(
    value: str, policy: dict[str, Any], places: int
) -> None:
    capacity = {"c": {"value": value, "requestPolicy": policy}}
    (device,) = of_slice({"name": "x", "allowMultipleAllocations": True, "capacity": capacity})
    assert device.places == places
    assert len(allocations.side_by_side([device], 20)) == places


def test_counters_of_any_quantity_are_read() -> None:
    uses = [{"counterSet": "c", "counters": {"m": {"value": "600u"}}}]
    devices = [{"name": name, "consumesCounters": uses} for name in "xy"]
    sets = [{"name": "c", "counters": {"m": {"value": "1m"}, "n": {"value": "1Pi"}}}]
    items = [slice_of(devices=devices), slice_of(sharedCounters=sets)]
    (device,) = allocations.of_driver(items, "d.example", "node-1")
    assert device.name == "x"


ALTERNATIVES = [{"name": name, "deviceClassName": "any"} for name in ("large", "small")]
CLASS = {"metadata": {"name": "d"}, "spec": {}}
NODE = {"metadata": {"name": "node-1", "labels": {}}}


def test_a_claim_of_the_user_is_allocated_as_a_scheduler_does() -> None:
    """An alternative by its full name, and each request with devices of its own."""
    requests = [
        {"name": "gpu", "firstAvailable": ALTERNATIVES},
        {"name": "nic", "exactly": {"deviceClassName": "any"}},
    ]
    claim = {"spec": {"devices": {"requests": requests, "config": [{"opaque": {"driver": "d"}}]}}}
    items = [slice_of(devices=[{"name": f"x{number}"} for number in range(5)])]
    found = allocations.allocated(
        claim, items, driver="d.example", classes={"d": CLASS}, default_class="d", node=NODE
    )
    rows = [device.allocation["results"] for device in found]
    assert [[row["request"] for row in pair] for pair in rows] == [["gpu/large", "nic"]] * 2
    assert [device.name for device in found] == [pair[0]["device"] for pair in rows]
    assert len({row["device"] for pair in rows for row in pair}) == 4
    wanted = claim_documents.Wanted(devices=found[:1])
    assert wanted.allocation("d.example")["config"][0]["source"] == "FromClaim"
