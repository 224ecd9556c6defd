"""Whole results: nodes, configuration, tolerations, shares; and what makes a node fail."""

from typing import Any

import pytest

from harness.subject.allocation import allocated_states, allocators, inventories, results
from tests.support import api_objects

Object = dict[str, Any]
RACK = {"key": "rack", "operator": "In", "values": ["r1"]}
SELECTOR = {"nodeSelectorTerms": [{"matchExpressions": [RACK]}]}
NODE = api_objects.node(labels={"rack": "r1"})


def allocate(
    *slices: Object,
    claim: Object | None = None,
    state: allocated_states.AllocatedState | None = None,
    config: list[Object] | None = None,
) -> Object | None:
    device_class = api_objects.device_class()
    device_class["spec"]["config"] = config or []
    made = allocators.Allocator(
        inventories.snapshot_of(slices),
        state or allocated_states.AllocatedState(),
        {api_objects.CLASS: device_class},
        [claim or api_objects.claim("c")],
    ).allocate(NODE)
    return None if made is None else made[0]


def one(**more: Any) -> Object:
    return api_objects.claim("c", requests=[api_objects.exactly(**more)])


def rows(allocation: Object | None) -> list[Object]:
    assert allocation is not None
    found: list[Object] = allocation["devices"]["results"]
    return found


@pytest.mark.parametrize(
    ("place", "device", "selector"),
    [
        ({"nodeSelector": SELECTOR}, {}, SELECTOR),
        ({"allNodes": True}, {}, None),
        ({"allNodes": True}, {"bindsToNode": True}, "worker-0"),
        ({"nodeName": "worker-0"}, {}, "worker-0"),
        ({"perDeviceNodeSelection": True}, {"nodeSelector": SELECTOR}, SELECTOR),
        ({"perDeviceNodeSelection": True}, {"nodeName": "worker-0"}, "worker-0"),
    ],
)
def test_an_allocation_says_where_its_devices_can_be_used(
    place: Object, device: Object, selector: Object | str | None
) -> None:
    made = allocate(api_objects.slice_of({"name": "a", **device}, pool="p", **place))
    assert made is not None
    if selector == "worker-0":
        selector = api_objects.allocation(node="worker-0")["nodeSelector"]
    assert made.get("nodeSelector") == selector


def test_all_waits_for_a_pool_that_is_not_complete_or_not_valid() -> None:
    every = one(allocationMode="All")
    good = api_objects.slice_of("a", pool="p", allNodes=True)
    for other in (
        api_objects.slice_of("b", pool="q", count=2, allNodes=True),
        api_objects.slice_of("b", "b", pool="q", allNodes=True),
    ):
        assert allocate(good, other, claim=every) is None
        assert [row["device"] for row in rows(allocate(good, other))] == ["a"]


def test_a_tainted_device_fails_all_and_a_taint_of_effect_none_does_not() -> None:
    every = one(allocationMode="All")
    for effect, fails in (("NoExecute", True), ("NoSchedule", True), ("None", False)):
        tainted = {"name": "b", "taints": [{"key": "k", "effect": effect}]}
        assert (allocate(api_objects.slice_of("a", tainted), claim=every) is None) is fails


def test_tolerations_are_in_the_result() -> None:
    tainted = {"name": "a", "taints": [{"key": "k", "effect": "NoSchedule"}]}
    tolerations = [{"key": "k", "operator": "Exists"}]
    assert allocate(api_objects.slice_of(tainted)) is None
    (row,) = rows(allocate(api_objects.slice_of(tainted), claim=one(tolerations=tolerations)))
    assert row["tolerations"] == tolerations


def test_configuration_of_class_and_claim() -> None:
    subs = [{"name": name, "deviceClassName": api_objects.CLASS} for name in ("s", "t")]
    claim = api_objects.claim("c", requests=[{"name": "r", "firstAvailable": subs}])
    opaque = {"opaque": {"driver": api_objects.DRIVER, "parameters": {}}}
    claim["spec"]["devices"]["config"] = [
        {"requests": [name], **opaque} for name in ("r/s", "r/t", "r")
    ]
    made = allocate(api_objects.slice_of("a"), claim=claim, config=[opaque])
    assert made is not None
    assert [(item["source"], item["requests"]) for item in made["devices"]["config"]] == [
        ("FromClass", ["r/s"]),
        ("FromClaim", ["r/s"]),
        ("FromClaim", ["r"]),
    ]


def test_shares_add_up_to_the_capacity_and_have_ids_of_their_own() -> None:
    shared = {"name": "a", "allowMultipleAllocations": True, "capacity": {"mem": {"value": "10Gi"}}}
    wanted = one(capacity={"requests": {"mem": "4Gi"}})
    state, ids = allocated_states.AllocatedState(), []
    for version in (1, 2):
        claim = api_objects.claim(
            "c", version=version, requests=wanted["spec"]["devices"]["requests"]
        )
        made = allocate(api_objects.slice_of(shared), claim=claim, state=state)
        (row,) = rows(made)
        assert row["consumedCapacity"] == {"mem": "4Gi"}
        ids.append(row["shareID"])
        state.add(made)
    assert len(set(ids)) == 2
    assert allocate(api_objects.slice_of(shared), claim=wanted, state=state) is None
    state.remove(made)
    assert allocate(api_objects.slice_of(shared), claim=wanted, state=state) is not None


def test_counters_of_two_drivers_with_pools_of_one_name_are_told_apart() -> None:
    """kubernetes#140434: 16 of 10 are given when pools are told apart by name only."""

    def pool(driver: str) -> list[Object]:
        size = {"mem": {"value": "8"}}
        uses = {"consumesCounters": [{"counterSet": "g", "counters": size}]}
        listed = [{"name": name, **uses} for name in ("a", "b")]
        parts = [
            api_objects.slice_of(*devices, name=f"{driver}-{index}", count=2)
            for index, devices in enumerate((listed, []))
        ]
        parts[1]["spec"]["sharedCounters"] = [{"name": "g", "counters": {"mem": {"value": "10"}}}]
        for part in parts:
            part["spec"]["driver"] = driver
        return parts

    slices = [*pool("x.example.com"), *pool("y.example.com")]
    found = rows(allocate(*slices, claim=one(count=2)))
    assert [row["driver"] for row in found] == ["x.example.com", "y.example.com"]
    assert allocate(*slices, claim=one(count=3)) is None


def test_a_device_that_consumes_less_than_nothing_makes_no_room_for_others() -> None:
    """kubernetes#141216: 20 of 10 are given when it is taken."""
    listed = [
        {"name": name, "consumesCounters": [{"counterSet": "g", "counters": {"mem": {"value": size}}}]}
        for name, size in (("less", "-10"), ("a", "10"), ("b", "10"))
    ]  # fmt: skip
    slices = [api_objects.slice_of(*listed, count=2), api_objects.slice_of(name="s2", count=2)]
    slices[1]["spec"]["sharedCounters"] = [{"name": "g", "counters": {"mem": {"value": "10"}}}]
    assert [row["device"] for row in rows(allocate(*slices, claim=one()))] == ["a"]
    assert allocate(*slices, claim=one(count=2)) is None


def test_an_earlier_alternative_is_preferred() -> None:
    subs = [{"name": name, "deviceClassName": api_objects.CLASS} for name in ("s", "t")]
    claim = api_objects.claim("c", requests=[{"name": "r", "firstAvailable": subs}])
    scores = [
        results.preference([claim], [{"devices": {"results": [{"request": name}]}}])
        for name in ("r/s", "r/t")
    ]
    assert scores == [8, 7]
