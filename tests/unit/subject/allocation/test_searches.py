"""Searches end: their time is limited, no number of devices is too deep, and claims have a limit.

tests/model_based/allocation compares what they find with another solver.
"""

from collections.abc import Sequence
from typing import Any

import pytest

from harness import concurrency
from harness.subject.allocation import (
    allocated_states,
    allocators,
    device_sets,
    devices,
    inventories,
    searches,
)
from tests.support import api_objects

Object = dict[str, Any]


def allocator(
    slices: Sequence[Object], *claims: Object, in_use: Sequence[str] = (), **options: Any
) -> allocators.Allocator:
    return allocators.Allocator(
        inventories.snapshot_of(slices),
        allocated_states.AllocatedState(device_sets.DeviceSet(in_use)),
        {api_objects.CLASS: api_objects.device_class()},
        claims,
        **options,
    )


def claim(*requests: Object) -> Object:
    return api_objects.claim("c", requests=requests)


def knapsack() -> list[Object]:
    """Devices no two of which are alike, because each consumes another amount."""
    devices = [
        {"name": f"d{size}", "consumesCounters": [{"counterSet": "g", "counters": _amount(size)}]}
        for size in range(1, 41)
    ]
    counters = api_objects.slice_of(name="s2", count=2)
    counters["spec"]["sharedCounters"] = [{"name": "g", "counters": _amount(60)}]
    del counters["spec"]["devices"]
    return [api_objects.slice_of(*devices, name="s1", count=2), counters]


def _amount(size: int) -> Object:
    return {"mem": {"value": str(size)}}


def test_a_search_that_takes_too_long_ends() -> None:
    made = allocator(knapsack(), claim(api_objects.exactly(count=11)), timeout_s=0.01)
    with pytest.raises(allocators.AllocationTimeoutError, match="timed out trying to allocate"):
        made.allocate(api_objects.node())


def test_a_search_checks_the_time_before_its_first_dead_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A selector may be slow, and a node may have many devices that it does not match."""
    made = allocator(
        [api_objects.slice_of(*(f"d{n}" for n in range(100)))], claim(api_objects.exactly())
    )
    now_s, looks = [0.0], [0]

    def look(device: devices.Device, selectors: object) -> bool:
        now_s[0], looks[0] = now_s[0] + 1.0, looks[0] + 1
        return False

    monkeypatch.setattr(concurrency, "monotonic_s", lambda: now_s[0])
    monkeypatch.setattr(devices.Device, "satisfies", look)
    with pytest.raises(allocators.AllocationTimeoutError):
        made.allocate(api_objects.node())
    assert looks[0] < 10 + 2 * searches.DEVICES_BETWEEN_CHECKS


def test_a_search_that_is_cancelled_ends() -> None:
    made = allocator(
        knapsack(), claim(api_objects.exactly(count=11)), timeout_s=0, is_cancelled=lambda: True
    )
    with pytest.raises(allocators.AllocationCancelledError):
        made.allocate(api_objects.node())


def test_no_number_of_devices_is_too_deep() -> None:
    """40 claims with 32 devices each, all of them chosen before the last one fails."""
    wanted = [claim(api_objects.exactly(count=32)) for _ in range(40)]
    slices = [api_objects.slice_of(*(f"d{index}" for index in range(1280)))]
    found = allocator(slices, *wanted).allocate(api_objects.node())
    assert found is not None
    assert sum(len(item["devices"]["results"]) for item in found) == 1280


SIXTY = api_objects.slice_of(*(f"d{index:02d}" for index in range(60)))


def test_requests_that_ask_for_more_than_a_claim_may_have_are_an_error() -> None:
    wanted = claim(*(api_objects.exactly(f"r{count}", count=count) for count in (20, 13)))
    with pytest.raises(allocators.AllocationError, match="33 exceeds the claim limit of 32"):
        allocator([SIXTY], wanted).allocate(api_objects.node())


def test_the_limit_counts_the_smallest_alternative_and_each_claim_alone() -> None:
    options = [
        {"name": name, "deviceClassName": api_objects.CLASS, "count": count}
        for name, count in (("much", 33), ("less", 20))
    ]
    made = claim({"name": "r", "firstAvailable": options})
    allocations = allocator([SIXTY], made, made).allocate(api_objects.node())
    assert allocations is not None
    assert [len(item["devices"]["results"]) for item in allocations] == [20, 20]


def test_one_allocator_serves_several_nodes() -> None:
    slices = [api_objects.slice_of("a", pool=f"worker-{index}") for index in range(2)]
    made = allocator(slices, claim(api_objects.exactly()), in_use=[api_objects.device_id("a")])
    for _ in range(2):
        assert made.allocate(api_objects.node("worker-0")) is None
        found = made.allocate(api_objects.node("worker-1"))
        assert found is not None
        assert found[0]["devices"]["results"] == [api_objects.result("a", pool="worker-1")]
