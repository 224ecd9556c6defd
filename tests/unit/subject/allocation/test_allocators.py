"""Which devices are given to claims."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from harness.subject.allocation import (
    allocated_states,
    allocators,
    device_requests,
    device_sets,
    inventories,
)
from harness.subject.telemetry import klog
from tests.support import api_objects

Object = dict[str, Any]
KIND = f'device.attributes["{api_objects.DRIVER}"].kind == '


def big(text: str = "big") -> Object:
    return {"cel": {"expression": f'{KIND}"{text}"'}}


def allocate(
    slices: Sequence[Object],
    *claims: Object,
    in_use: Sequence[str] = (),
    node: Object | None = None,
    classes: Sequence[Object] = (api_objects.device_class(),),
) -> list[Object] | None:
    allocator = allocators.Allocator(
        inventories.snapshot_of(slices),
        allocated_states.AllocatedState(
            device_sets.DeviceSet({api_objects.device_id(name) for name in in_use})
        ),
        {item["metadata"]["name"]: item for item in classes},
        claims,
    )
    return allocator.allocate(node or api_objects.node())


def given(allocations: list[Object] | None) -> list[list[str]] | None:
    if allocations is None:
        return None
    return [
        [f"{item['request']}={item['device']}" for item in allocation["devices"]["results"]]
        for allocation in allocations
    ]


def claim(*requests: Object, **more: Any) -> Object:
    return api_objects.claim("c", requests=requests or (api_objects.exactly(),), **more)


def test_the_first_free_devices_are_given() -> None:
    slices = [api_objects.slice_of("a", "b", "c", "d")]
    made = claim(api_objects.exactly(count=2))
    assert given(allocate(slices, made)) == [["r=a", "r=b"]]
    assert given(allocate(slices, made, in_use=["a", "c"])) == [["r=b", "r=d"]]


def test_too_few_devices_are_none() -> None:
    slices = [api_objects.slice_of("a", "b")]
    assert allocate(slices, claim(api_objects.exactly(count=3))) is None
    assert allocate(slices, claim(), in_use=["a", "b"]) is None
    assert allocate([], claim()) is None


def test_the_result_names_driver_pool_device_and_node() -> None:
    made = allocate([api_objects.slice_of("a")], claim())
    assert made == [api_objects.allocation("a")]


def test_devices_of_every_node_leave_the_node_open() -> None:
    made = allocate([api_objects.slice_of("a", allNodes=True)], claim())
    assert made is not None
    assert "nodeSelector" not in made[0]


def test_one_local_device_ties_the_claim_to_its_node() -> None:
    slices = [
        api_objects.slice_of("a", pool="anywhere", allNodes=True),
        api_objects.slice_of("b", pool="worker-0"),
    ]
    made = allocate(slices, claim(api_objects.exactly(count=2)))
    assert made is not None
    assert made[0]["nodeSelector"] == api_objects.allocation(node="worker-0")["nodeSelector"]


def test_the_configuration_of_the_claim_is_passed_on() -> None:
    made = claim()
    made["spec"]["devices"]["config"] = [{"requests": ["r"], "opaque": {"driver": "d"}}]
    allocations = allocate([api_objects.slice_of("a")], made)
    assert allocations is not None
    assert allocations[0]["devices"]["config"] == [
        {"requests": ["r"], "opaque": {"driver": "d"}, "source": "FromClaim"}
    ]


def test_claims_of_one_pod_share_no_device_and_get_all_or_nothing() -> None:
    slices = [api_objects.slice_of("a", "b")]
    assert given(allocate(slices, claim(), claim())) == [["r=a"], ["r=b"]]
    assert allocate(slices, claim(), claim(), claim()) is None


def test_a_claim_without_requests_gets_an_empty_allocation() -> None:
    made = api_objects.claim("c")
    made["spec"] = {}
    assert allocate([], made) == [{"devices": {"results": []}}]


def test_class_and_request_select() -> None:
    slices = [
        api_objects.slice_of(
            api_objects.device("a", kind="big", index=1),
            api_objects.device("b", kind="small", index=2),
            api_objects.device("c", kind="big", index=2),
        )
    ]
    classes = [api_objects.device_class(f'{KIND}"big"')]
    index = {"cel": {"expression": f'device.attributes["{api_objects.DRIVER}"].index == 2'}}
    made = claim(api_objects.exactly(selectors=[index]))
    assert given(allocate(slices, made, classes=classes)) == [["r=c"]]


def test_an_unknown_class_is_an_error() -> None:
    with pytest.raises(allocators.AllocationError, match="device class gpu does not exist"):
        allocate([], claim(), classes=[])


def test_an_unknown_constraint_is_an_error() -> None:
    made = claim(constraints=[{"someAttribute": "x"}])
    with pytest.raises(allocators.AllocationError, match="someAttribute"):
        allocate([], made)


# -------------------------------------------------------------------------- all devices


def every(name: str = "r", **more: Any) -> Object:
    return api_objects.exactly(name, allocationMode="All", **more)


def test_all_takes_every_matching_device_and_nothing_when_one_is_in_use() -> None:
    slices = [
        api_objects.slice_of(
            api_objects.device("a", kind="big"), "b", api_objects.device("c", kind="x")
        )
    ]
    assert given(allocate(slices, claim(every()))) == [["r=a", "r=b", "r=c"]]
    assert allocate(slices, claim(every()), in_use=["b"]) is None


def test_all_of_nothing_is_none() -> None:
    assert allocate([], claim(every())) is None


def test_all_of_the_selected_devices() -> None:
    slices = [
        api_objects.slice_of(
            *(api_objects.device(name, kind=name[0]) for name in ("a1", "b", "a2"))
        )
    ]
    assert given(allocate(slices, claim(every(selectors=[big("a")])))) == [["r=a1", "r=a2"]]


# ------------------------------------------------------------------------- admin access


def test_admin_access_is_given_to_devices_in_use_and_marked() -> None:
    made = allocate(
        [api_objects.slice_of("a")], claim(api_objects.exactly(adminAccess=True)), in_use=["a"]
    )
    assert made is not None
    assert made[0]["devices"]["results"] == [api_objects.result("a", adminAccess=True)]


def test_admin_access_takes_nothing_from_others_and_no_device_twice_in_a_claim() -> None:
    slices = [api_objects.slice_of("a", "b")]
    admin, other = claim(api_objects.exactly(adminAccess=True, count=2)), claim(every())
    assert given(allocate(slices, other, admin)) == [["r=a", "r=b"], ["r=a", "r=b"]]
    assert allocate(slices, admin, other) is None, "in one call an admin's device is in use"
    assert allocate(slices, claim(api_objects.exactly(adminAccess=True, count=3))) is None
    twice = claim(
        api_objects.exactly("x", adminAccess=True), api_objects.exactly("y", adminAccess=True)
    )
    assert given(allocate(slices, twice)) == [["x=a", "y=b"]]


# -------------------------------------------------------------------------- alternatives


def first_of(*options: Object, name: str = "r") -> Object:
    return {"name": name, "firstAvailable": list(options)}


def option(name: str, **more: Any) -> Object:
    return {"name": name, "deviceClassName": api_objects.CLASS, **more}


def test_alternatives_are_tried_in_order_and_named() -> None:
    slices = [
        api_objects.slice_of(
            api_objects.device("a", kind="big"), api_objects.device("b", kind="small")
        )
    ]
    made = claim(
        first_of(option("best", selectors=[big()]), option("good", selectors=[big("small")]))
    )
    assert given(allocate(slices, made)) == [["r/best=a"]]
    assert given(allocate(slices, made, in_use=["a"])) == [["r/good=b"]]
    assert allocate(slices, made, in_use=["a", "b"]) is None


def test_a_worse_alternative_is_taken_when_a_later_claim_needs_it() -> None:
    slices = [
        api_objects.slice_of(
            api_objects.device("a", kind="big"), api_objects.device("b", kind="small")
        )
    ]
    picky = claim(api_objects.exactly(selectors=[big()]))
    flexible = claim(
        first_of(option("best", selectors=[big()]), option("good", selectors=[big("small")]))
    )
    assert given(allocate(slices, flexible, picky)) == [["r/good=b"], ["r=a"]]


# ---------------------------------------------------------------------------- constraints


def same(name: str, *requests: str) -> Object:
    constraint: Object = {"matchAttribute": f"{api_objects.DRIVER}/{name}"}
    return {**constraint, "requests": list(requests)} if requests else constraint


def test_devices_agree_on_an_attribute() -> None:
    slices = [
        api_objects.slice_of(
            api_objects.device("a", numa=0),
            api_objects.device("b", numa=1),
            api_objects.device("c", numa=1),
        )
    ]
    made = claim(api_objects.exactly(count=2), constraints=[same("numa")])
    assert given(allocate(slices, made)) == [["r=b", "r=c"]]
    assert allocate(slices, made, in_use=["c"]) is None


def test_a_device_without_the_attribute_cannot_agree() -> None:
    slices = [api_objects.slice_of("a", api_objects.device("b", numa=0))]
    assert given(allocate(slices, claim(constraints=[same("numa")]))) == [["r=b"]]


def test_a_constraint_covers_the_requests_that_it_names() -> None:
    slices = [
        api_objects.slice_of(api_objects.device("a", numa=0), "b", api_objects.device("c", numa=0))
    ]
    requests = [api_objects.exactly(name) for name in ("x", "y", "z")]
    made = claim(*requests, constraints=[same("numa", "x", "z")])
    assert given(allocate(slices, made)) == [["x=a", "y=b", "z=c"]]


def test_a_constraint_may_name_a_request_with_alternatives_or_one_of_them() -> None:
    slices = [api_objects.slice_of("a", api_objects.device("b", numa=0))]
    for name in ("x", "x/s"):
        picky = claim(first_of(option("s"), name="x"), constraints=[same("numa", name)])
        assert given(allocate(slices, picky)) == [["x/s=b"]]
    free = claim(first_of(option("s"), name="x"), constraints=[same("numa", "x/t")])
    assert given(allocate(slices, free)) == [["x/s=a"]]


def test_values_of_different_types_never_agree() -> None:
    """For Python 1 == True; for Kubernetes an int and a bool are two things."""
    slices = [
        api_objects.slice_of(api_objects.device("a", numa=1), api_objects.device("b", numa=True))
    ]
    made = claim(api_objects.exactly(count=2), constraints=[same("numa")])
    assert allocate(slices, made) is None


def test_constraints_do_not_reach_other_claims() -> None:
    slices = [
        api_objects.slice_of(api_objects.device("a", numa=0), api_objects.device("b", numa=1))
    ]
    made = claim(constraints=[same("numa")])
    assert given(allocate(slices, made, made)) == [["r=a"], ["r=b"]]


# ---------------------------------------------------------------------------- the search


def test_an_earlier_claim_gives_way_to_a_later_one() -> None:
    slices = [
        api_objects.slice_of(
            api_objects.device("a", kind="big"), api_objects.device("b", kind="small")
        )
    ]
    picky = claim(api_objects.exactly(selectors=[big()]))
    assert given(allocate(slices, claim(), picky)) == [["r=b"], ["r=a"]]


def test_a_claim_gets_32_devices_at_most() -> None:
    slices = [api_objects.slice_of(*(f"d{index:02d}" for index in range(40)))]
    made = allocate(slices, claim(api_objects.exactly(count=32)))
    assert made is not None
    assert len(made[0]["devices"]["results"]) == device_requests.DEVICES_PER_CLAIM_MAX
    with pytest.raises(allocators.AllocationError, match="40 exceeds the claim limit of 32"):
        allocate(slices, claim(every()))


@pytest.mark.parametrize("counts", [(33,), (20, 13)])
def test_a_claim_that_asks_for_more_is_an_error_and_not_a_long_search(
    counts: tuple[int, ...],
) -> None:
    slices = [api_objects.slice_of(*(f"d{index:02d}" for index in range(60)))]
    requests = [api_objects.exactly(f"r{index}", count=count) for index, count in enumerate(counts)]
    with pytest.raises(allocators.AllocationError, match="33 exceeds the claim limit of 32"):
        allocate(slices, claim(*requests))


def test_the_limit_counts_the_smallest_alternative_and_each_claim_alone() -> None:
    slices = [api_objects.slice_of(*(f"d{index:02d}" for index in range(60)))]
    made = claim(first_of(option("much", count=33), option("less", count=20)))
    allocations = allocate(slices, made, made)
    assert allocations is not None
    assert [len(item["devices"]["results"]) for item in allocations] == [20, 20]


def test_one_allocator_serves_several_nodes() -> None:
    slices = [api_objects.slice_of("a", pool=f"worker-{index}") for index in range(2)]
    allocator = allocators.Allocator(
        inventories.snapshot_of(slices),
        allocated_states.AllocatedState(
            device_sets.DeviceSet({api_objects.device_id("a", "worker-0")})
        ),
        {api_objects.CLASS: api_objects.device_class()},
        [claim()],
    )
    assert allocator.allocate(api_objects.node("worker-0")) is None
    made = allocator.allocate(api_objects.node("worker-1"))
    assert made is not None
    assert made[0]["devices"]["results"] == [api_objects.result("a", pool="worker-1")]
    assert allocator.allocate(api_objects.node("worker-0")) is None


def test_at_verbosity_7_each_device_has_its_lines() -> None:
    """In use, not selected, tainted, taken, and given back when the second request has none."""
    kinds = {
        "small": {"attributes": {"kind": {"string": "small"}}},
        "big": {"attributes": {"kind": {"string": "big"}}},
    }
    taint = {"taints": [{"key": "k", "effect": "NoSchedule"}]}
    devices = [
        {"name": "used", **kinds["big"]},
        {"name": "other", **kinds["small"]},
        {"name": "tainted", **kinds["big"], **taint},
        {"name": "free", **kinds["big"]},
    ]
    slices = [api_objects.slice_of("a")]
    slices[0]["spec"]["devices"] = devices
    wanted = claim(
        api_objects.exactly("r1", selectors=[big()]), api_objects.exactly("r2", selectors=[big()])
    )
    lines: list[str] = []
    klog.use(klog.Logger(7, "json", write=lines.append))
    try:
        assert allocate(slices, wanted, in_use=["used"]) is None
    finally:
        klog.use(None)
    found = [json.loads(line) for line in lines]
    each = [f"{item['msg']} {item['device']}" for item in found if item["v"] == 7]
    pool = api_objects.device_id("")
    assert each[:4] == [
        f"Device in use {pool}used",
        f"Device not selectable {pool}other",
        f"Device not usable {pool}tainted",
        f"Device allocated {pool}free",
    ]
    assert f"Device deallocated {pool}free" in each
