"""Which devices are given to claims."""

from collections.abc import Sequence
from typing import Any

import pytest

from harness.subject.allocation import (
    allocated_states,
    allocators,
    device_sets,
    inventories,
)
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


def test_an_unknown_class_is_an_error() -> None:
    with pytest.raises(allocators.AllocationError, match="device class gpu does not exist"):
        allocate([], claim(), classes=[])


def test_an_unknown_constraint_is_an_error() -> None:
    made = claim(constraints=[{"someAttribute": "x"}])
    with pytest.raises(allocators.AllocationError, match="someAttribute"):
        allocate([], made)


# -------------------------------------------------------------------------- all devices


# ------------------------------------------------------------------------- admin access


# -------------------------------------------------------------------------- alternatives


def first_of(*options: Object, name: str = "r") -> Object:
    return {"name": name, "firstAvailable": list(options)}


def option(name: str, **more: Any) -> Object:
    return {"name": name, "deviceClassName": api_objects.CLASS, **more}


# ---------------------------------------------------------------------------- constraints


# ---------------------------------------------------------------------------- the search


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
