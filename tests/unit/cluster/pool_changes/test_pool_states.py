"""The slices that a driver publishes of a pool that changes."""

import re
from typing import Any

from harness.cluster.pool_changes import pool_states
from tests.support import api_objects

Object = dict[str, Any]
TAINT = {"key": "k", "effect": "NoSchedule"}


def state(*slices: Object) -> pool_states.PoolState:
    [found] = pool_states.of_slices(slices or [api_objects.slice_of("a", "b", "c")]).values()
    return found


def published(known: pool_states.PoolState) -> list[list[str]]:
    pieces = known.slices()
    counts = {piece["spec"]["pool"]["resourceSliceCount"] for piece in pieces}
    assert counts <= {len(pieces)}
    assert len({piece["metadata"]["name"] for piece in pieces}) == len(pieces)
    return [[item["name"] for item in piece["spec"].get("devices", ())] for piece in pieces]


def test_a_pool_that_does_not_change_is_published_as_it_was() -> None:
    given = api_objects.slice_of("a", "b", "c")
    [made] = state(given).slices()
    assert made["spec"] == given["spec"]
    assert made["metadata"] == {"name": "worker-0-1", "labels": {}}


def of_pool(pool: str, *, generation: int = 1, count: int = 1) -> Object:
    made = api_objects.slice_of("a")
    name = {"name": pool, "generation": generation, "resourceSliceCount": count}
    metadata = {**made["metadata"], "name": f"{pool}-{generation}"}
    return {**made, "metadata": metadata, "spec": {**made["spec"], "pool": name}}


def test_pools_that_no_driver_keeps_up_to_date_are_left_alone() -> None:
    incomplete, renewed = of_pool("x", count=2), [of_pool("y"), of_pool("y", generation=2)]
    known = pool_states.of_slices([incomplete, *renewed, of_pool("z")])
    assert [pool for _, pool in known] == ["z"]


def test_new_devices_of_a_pool_with_any_name_have_names_that_the_api_accepts() -> None:
    [name] = state(of_pool(f"example.com/{'x' * 60}")).grow(1)
    assert re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", name)


def test_devices_that_were_added_have_new_names_each_time() -> None:
    known = state()
    first = known.grow(1)
    known.edit(first, pool_states.left_out)
    second = known.grow(2)
    assert not {*first} & {*second}
    assert published(known) == [["a", "b", "c", *second]]


def test_devices_are_not_shared_for_a_time_and_have_no_policy_then() -> None:
    policy = {"default": "1", "validValues": ["1"]}
    capacity = {"memory": {"value": "2", "requestPolicy": policy}}
    shared = {"name": "a", "allowMultipleAllocations": True, "capacity": capacity}
    known = state(api_objects.slice_of(shared, "b"))
    undo = known.edit(["a", "b"], pool_states.unshared)
    [made] = known.slices()
    assert made["spec"]["devices"] == [
        {"name": "a", "capacity": {"memory": {"value": "2"}}},
        {"name": "b"},
    ]
    undo()
    [made] = known.slices()
    assert made["spec"]["devices"][0] == shared


def test_taints_are_added_to_those_of_the_device_and_removed_one_by_one() -> None:
    known = state(api_objects.slice_of({"name": "a", "taints": [{"key": "own"}]}, "b"))
    undo = known.edit(["a"], pool_states.tainted(TAINT))
    known.edit(["a"], pool_states.tainted(TAINT))
    undo()
    [made] = known.slices()
    assert made["spec"]["devices"][0]["taints"] == [{"key": "own"}, TAINT]
    assert "taints" not in made["spec"]["devices"][1]


def test_a_slice_with_taints_has_at_most_64_devices() -> None:
    """The API's limit, which is 128 without them."""
    known = state(api_objects.slice_of(*(f"d{number:03d}" for number in range(100))))
    assert [len(names) for names in published(known)] == [100]
    known.edit(["d005"], pool_states.tainted(TAINT))
    assert [len(names) for names in published(known)] == [50, 50]


def test_slices_of_counters_and_of_several_places_stay_what_they_are() -> None:
    counters = api_objects.slice_of(name="counters", count=3)
    counters["spec"] |= {"sharedCounters": [{"name": "s", "counters": {}}]}
    here = api_objects.slice_of("a", name="here", count=3)
    there = api_objects.slice_of("b", name="there", count=3, nodeName="worker-9")
    known = state(there, counters, here)
    assert published(known) == [[], ["a"], ["b"]]
    assert known.slices()[0]["spec"]["sharedCounters"] == counters["spec"]["sharedCounters"]
    assert known.slices()[2]["spec"]["nodeName"] == "worker-9"


def test_a_withdrawn_pool_has_no_slices_and_an_empty_one_has_one() -> None:
    known = state()
    known.edit("abc", pool_states.left_out)
    assert published(known) == [[]]
    known.is_published = False
    assert known.slices() == []


def test_publishing_again_changes_only_an_attribute() -> None:
    known = state()
    [before] = known.slices()
    known.published += 1
    [after] = known.slices()
    assert after["spec"]["devices"][0] == {
        **before["spec"]["devices"][0],
        "attributes": {"published": {"int": 1}},
    }
