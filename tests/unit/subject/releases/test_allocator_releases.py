"""The allocators of the releases, each compared with the correct one where they are wrong."""

from collections.abc import Sequence
from typing import Any

import pytest

from harness.subject import assembling
from harness.subject.allocation import allocated_states, inventories
from tests.support import api_objects

Object = dict[str, Any]
RELEASES = ("1.34.2", "1.36.2")
"""Those that keep what a refused device has left."""
BROKEN = {"key": "broken", "effect": "NoSchedule"}


def given(
    release: str | None, slices: Sequence[Object], *requests: Object, **more: Any
) -> list[str] | None:
    allocator = assembling.parts(release=release).new_allocator(
        inventories.snapshot_of(slices),
        allocated_states.AllocatedState(),
        {api_objects.CLASS: api_objects.device_class()},
        [api_objects.claim("c", requests=requests or (api_objects.exactly(),), **more)],
    )
    found = allocator.allocate(api_objects.node())
    if found is None:
        return None
    return [row["device"] for row in found[0]["devices"]["results"]]


def valued(name: str, value: object) -> Object:
    kind = "ints" if isinstance(value, list) else "int"
    return {"name": name, "attributes": {"x": {kind: value}}}


def constraint(kind: str) -> list[Object]:
    return [{kind: f"{api_objects.DRIVER}/x"}]


def partition(name: str, amount: int, *taints: Object, shared: bool = False) -> Object:
    consumed = [{"counterSet": "set", "counters": {"memory": {"value": str(amount)}}}]
    made: Object = {"name": name, "consumesCounters": consumed, "taints": list(taints)}
    return made | {"allowMultipleAllocations": True} if shared else made


def counted(total: int, *devices: Object, driver: str = api_objects.DRIVER) -> list[Object]:
    """A pool with one counter: a slice that declares it, and one with devices."""
    declared = [{"name": "set", "counters": {"memory": {"value": str(total)}}}]
    made = [
        api_objects.slice_of(name=f"{driver}-1", count=2),
        api_objects.slice_of(*devices, name=f"{driver}-2", count=2),
    ]
    made[0]["spec"] |= {"sharedCounters": declared}
    for piece in made:
        piece["spec"] |= {"driver": driver}
    return made


@pytest.mark.parametrize("release", RELEASES)
def test_counters_of_a_device_that_a_constraint_refuses(release: str) -> None:
    """kubernetes#140431: 2 + 8 of 10 would do, but 8 stay taken by the device in between."""
    pieces = counted(10, partition("a", 2), partition("b", 8), partition("c", 8))
    for item, value in zip(pieces[1]["spec"]["devices"], (1, 2, 1), strict=True):
        item |= {"attributes": {"x": {"int": value}}}
    wanted = api_objects.exactly(count=2)
    matching = constraint("matchAttribute")
    assert given(None, pieces, wanted, constraints=matching) == ["a", "c"]
    assert given(release, pieces, wanted, constraints=matching) is None


@pytest.mark.parametrize("release", RELEASES)
def test_counters_of_a_device_that_a_taint_refuses(release: str) -> None:
    pieces = counted(10, partition("a", 8, BROKEN), partition("b", 8))
    assert given(None, pieces) == ["b"]
    assert given(release, pieces) is None


@pytest.mark.parametrize("release", RELEASES)
def test_counters_of_a_shared_device_that_is_given_up(release: str) -> None:
    """The first device is given up, as no second one is left; the second has room for both."""
    pieces = counted(10, partition("a", 6, shared=True), partition("b", 4), partition("c", 6))
    listed = pieces[1]["spec"]["devices"]
    for item, value in zip(listed, (1, 2, 2), strict=True):
        item |= {"attributes": {"x": {"int": value}}}
    wanted = api_objects.exactly(count=2)
    matching = constraint("matchAttribute")
    assert given(None, pieces, wanted, constraints=matching) == ["b", "c"]
    assert given(release, pieces, wanted, constraints=matching) is None


@pytest.mark.parametrize(("release", "is_mixed"), [("1.34.2", False), ("1.36.2", True)])
def test_pools_of_two_drivers_with_one_name_share_counters(release: str, is_mixed: bool) -> None:
    """kubernetes#140434."""
    pieces = counted(10, partition("a", 8), driver="a.example.com")
    pieces += counted(4, partition("b", 8), partition("c", 2), driver="b.example.com")
    wanted = api_objects.exactly(count=2)
    assert given(None, pieces, wanted) == ["a", "c"]
    assert given(release, pieces, wanted) == ["a", "c"]
    of_second = {"cel": {"expression": 'device.driver == "b.example.com"'}}
    of_first = {"cel": {"expression": 'device.driver == "a.example.com"'}}
    requests = [
        api_objects.exactly("one", selectors=[of_first]),
        api_objects.exactly("two", selectors=[of_second]),
    ]
    pieces[3]["spec"]["devices"] = [partition("b", 4)]
    assert given(None, pieces, *requests) == ["a", "b"]
    given_away = None if is_mixed else ["a", "b"]
    assert given(release, pieces, *requests) == given_away, "8 + 4 of the first driver's 10"


@pytest.mark.parametrize(
    ("release", "is_found"), [(None, True), ("1.34.2", False), ("1.36.2", True)]
)
def test_an_alternative_for_all_devices_of_which_there_is_none(
    release: str | None, is_found: bool
) -> None:
    """kubernetes#137347."""
    none = {"cel": {"expression": 'device.driver == "none.example.com"'}}
    every = {"name": "all", "deviceClassName": api_objects.CLASS, "allocationMode": "All"}
    one = {
        "name": "one",
        "deviceClassName": api_objects.CLASS,
        "allocationMode": "ExactCount",
        "count": 1,
    }
    wanted = {"name": "r", "firstAvailable": [{**every, "selectors": [none]}, one]}
    found = given(release, [api_objects.slice_of("a")], wanted)
    assert found == (["a"] if is_found else None)


@pytest.mark.parametrize("release", RELEASES)
def test_distinct_attributes_are_those_of_the_last_device(release: str) -> None:
    """kubernetes#140438."""
    pieces = [api_objects.slice_of(valued("a", 1), valued("b", 2), valued("c", 1))]
    wanted = api_objects.exactly(count=3)
    distinct = constraint("distinctAttribute")
    assert given(None, pieces, wanted, constraints=distinct) is None
    assert given(release, pieces, wanted, constraints=distinct) == ["a", "b", "c"]


@pytest.mark.parametrize("release", RELEASES)
def test_lists_match_nothing(release: str) -> None:
    pieces = [api_objects.slice_of(valued("a", [1, 2]), valued("b", [2]), valued("c", 2))]
    matching = constraint("matchAttribute")
    pair, one = api_objects.exactly(count=2), api_objects.exactly()
    assert given(None, pieces, pair, constraints=matching) == ["a", "b"]
    assert given(release, pieces, pair, constraints=matching) is None
    assert given(release, pieces, one, constraints=matching) == ["a"]


@pytest.mark.parametrize("release", RELEASES)
def test_a_request_for_all_violates_a_constraint(release: str) -> None:
    pieces = [api_objects.slice_of(valued("a", 1), valued("b", 2))]
    every = api_objects.exactly(allocationMode="All")
    with pytest.raises(Exception, match="a claim constraint would not be satisfied"):
        given(release, pieces, every, constraints=constraint("matchAttribute"))


@pytest.mark.parametrize(
    ("release", "free", "tolerations"),
    [(None, True, True), ("1.36.2", True, True), ("1.34.2", False, False)],
)
def test_effects_of_taints_and_tolerations_in_the_result(
    release: str | None, free: bool, tolerations: bool
) -> None:
    harmless = {"name": "a", "taints": [BROKEN | {"effect": "None"}]}
    assert (given(release, [api_objects.slice_of(harmless)]) is not None) is free
    wanted = api_objects.exactly(tolerations=[{"operator": "Exists"}])
    allocator = assembling.parts(release=release).new_allocator(
        inventories.snapshot_of([api_objects.slice_of("a")]),
        allocated_states.AllocatedState(),
        {api_objects.CLASS: api_objects.device_class()},
        [api_objects.claim("c", requests=[wanted])],
    )
    found = allocator.allocate(api_objects.node())
    assert found is not None
    assert ("tolerations" in found[0]["devices"]["results"][0]) is tolerations
