"""The devices that a pod could have: what is idle, what is doubtful, and what is not there."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from harness.checks import world_states
from harness.checks.observed import observed_slices
from harness.checks.progress import device_supply
from tests.histories import worlds

Object = dict[str, Any]
ONE = device_supply.Need((worlds.CLASS,), 1, admin=False)
TWO = device_supply.Need((worlds.CLASS,), 2, admin=False)
ADMIN = device_supply.Need((worlds.CLASS,), 1, admin=True)
D0, D1, D2 = (worlds.device("n", index) for index in range(3))


def supply(
    *slices: Object,
    claims: Sequence[Object] = (),
    rules: Sequence[Object] = (),
    pools: Mapping[str, Any] = worlds.SETTINGS["pools"],
) -> device_supply.DeviceSupply:
    """The devices of these slices."""
    world = worlds.World(slices=slices, claims=claims, taint_rules=rules)
    final = worlds.judged(world, plan=worlds.plan())[world_states.WorldState]
    return device_supply.DeviceSupply(final, {"pools": pools})


def slice_of(*, generation: int = 1, count: int = 1, name: str = "n", **fields: Any) -> Object:
    """A slice with two devices."""
    made = worlds.devices_of("n", 2, **fields)
    made["metadata"] |= {"name": name, "uid": f"uid-{name}"}
    made["spec"]["pool"] |= {"generation": generation, "resourceSliceCount": count}
    return made


def held(name: str, device: str, **row: Any) -> Object:
    """A claim that holds a device."""
    made = worlds.claim(name, device)
    made["status"]["allocation"]["devices"]["results"][0] |= row
    return made


SUPPLIES: dict[str, tuple[device_supply.DeviceSupply, device_supply.Need, list[str] | None, bool]]
SUPPLIES = {
    # The devices, the need, what is found, and whether more may be there.
    "idle": (supply(slice_of()), ONE, [D0], False),
    "enough": (supply(slice_of()), TWO, [D0, D1], False),
    "one in use": (supply(slice_of(), claims=[held("a", D0)]), ONE, [D1], False),
    "all in use": (
        supply(slice_of(), claims=[held("a", D0), held("b", D1)]),
        ONE,
        None,
        False,
    ),
    "too few left": (supply(slice_of(), claims=[held("a", D0)]), TWO, None, False),
    "in use, for admin access": (
        supply(slice_of(), claims=[held("a", D0), held("b", D1)]),
        ADMIN,
        [D0],
        False,
    ),
    "only admin access": (
        supply(slice_of(), claims=[held("a", D0, adminAccess=True)]),
        TWO,
        [D0, D1],
        False,
    ),
    "an old generation": (
        supply(slice_of(), slice_of(generation=2, name="m")),
        ONE,
        [D0],
        False,
    ),
    "a generation that is not complete": (
        supply(slice_of(), slice_of(generation=2, name="m", count=2)),
        ONE,
        None,
        False,
    ),
    "tainted": (
        supply(slice_of(taints=[{"key": "k", "effect": "NoSchedule"}])),
        ONE,
        None,
        True,
    ),
    "binding conditions": (supply(slice_of(bindingConditions=["ready"])), ONE, None, True),
    "rules": (supply(slice_of(), rules=[worlds.taint_rule("r")]), ONE, None, True),
    "shares": (
        supply(
            slice_of(allowMultipleAllocations=True),
            claims=[held("a", D0, shareID="1"), held("b", D1, shareID="2")],
        ),
        ONE,
        None,
        True,
    ),
    "shares that are allowed no more": (
        supply(slice_of(), claims=[held("a", D0, shareID="1"), held("b", D1, shareID="2")]),
        ONE,
        None,
        False,
    ),
    "another driver": (
        supply(slice_of(), pools={**worlds.SETTINGS["pools"], "driver": "other"}),
        ONE,
        None,
        False,
    ),
    "another owner": (
        supply(slice_of(), pools={**worlds.SETTINGS["pools"], "owner": "two"}),
        ONE,
        None,
        False,
    ),
    "the owner": (
        supply(
            slice_of(attributes={"owner": {"string": "two"}}),
            pools={**worlds.SETTINGS["pools"], "owner": "two"},
        ),
        ONE,
        [D0],
        False,
    ),
    "a class with selectors": (
        supply(
            slice_of(),
            pools={
                **worlds.SETTINGS["pools"],
                "device_class": {"name": worlds.CLASS, "selectors": ["true"]},
            },
        ),
        ONE,
        None,
        True,
    ),
    "another class": (
        supply(slice_of()),
        device_supply.Need(("other",), 1, admin=False),
        None,
        True,
    ),
    "a selector": (
        supply(slice_of()),
        device_supply.Need((worlds.CLASS, "true"), 1, admin=False),
        None,
        True,
    ),
}


@pytest.mark.parametrize(
    ("supplied", "need", "expected", "is_doubtful"), SUPPLIES.values(), ids=SUPPLIES
)
def test_what_a_pod_could_have(
    supplied: device_supply.DeviceSupply,
    need: device_supply.Need,
    expected: list[str] | None,
    is_doubtful: bool,
) -> None:
    assert supplied.find(need) == (None if expected is None else ("n", expected))
    assert supplied.has_doubtful(need) is is_doubtful


def test_only_chosen_nodes_are_looked_at() -> None:
    both = supply(slice_of(), worlds.devices_of("m", 1))
    assert both.find(ONE, ["m"]) == ("m", [worlds.device("m", 0)])
    assert both.find(ONE, ["", "x"]) is None
    assert (both.node_of(D0), both.node_of("gpu.example/x/d0")) == ("n", None)


def test_what_is_taken_is_gone_and_the_rest_is_left() -> None:
    both = supply(slice_of(), worlds.devices_of("m", 1))
    both.take("n", [D0])
    assert both.find(ONE, ["n"]) == ("n", [D1])
    both.take("n", [D1])
    assert both.find(ONE, ["n"]) is None
    assert both.find(ONE) == ("m", [worlds.device("m", 0)])


def counted(*amounts: int, slots: int = 3) -> Object:
    """A slice whose devices consume these numbers of slots; the pool has `slots`."""
    made = worlds.devices_of("n", len(amounts))
    for device, amount in zip(made["spec"]["devices"], amounts, strict=True):
        counters = {"slots": {"value": str(amount)}}
        device["consumesCounters"] = [{"counterSet": "set", "counters": counters}]
    made["spec"]["sharedCounters"] = [{"name": "set", "counters": {"slots": {"value": str(slots)}}}]
    return made


def test_devices_that_share_counters_are_taken_together() -> None:
    both = supply(counted(1, 1), worlds.devices_of("m", 1))
    assert both.find(TWO) is None  # their counters may not suffice for both
    assert both.has_doubtful(TWO)
    both.take("n", [D0])
    assert both.find(ONE, ["n"]) is None
    plain = supply(slice_of())
    plain.take("n", [D0])
    assert plain.find(ONE) == ("n", [D1])


def test_only_the_counted_devices_of_a_pool_share_its_counters() -> None:
    mixed, other = counted(1, 1), counted(1)
    mixed["spec"]["devices"].append({"name": "d2"})
    other["metadata"] |= {"name": "slice-q", "uid": "uid-slice-q"}
    other["spec"]["pool"] |= {"name": "q"}
    supplied = supply(mixed, other)
    supplied.take("n", [D0])
    assert supplied.find(ONE) == ("n", [D2])
    supplied.take("n", [D2])
    assert supplied.find(ONE) == ("n", [worlds.device("q", 0)])


@pytest.mark.parametrize(("slots", "expected"), [(3, ("n", [D1])), (2, None)])
def test_a_device_is_idle_if_its_counters_suffice(slots: int, expected: Any) -> None:
    one = supply(counted(1, 2, slots=slots), claims=[held("a", D0)])
    assert one.find(ONE) == expected
    assert not one.has_doubtful(ONE)


# ------------------------------------------------------------------------------ counters


def _specs(consumed: Sequence[Mapping[str, str]], offered: Mapping[str, str]) -> Any:
    devices = [
        {
            "name": f"d{index}",
            "consumesCounters": [
                {"counterSet": "set", "counters": {name: {"value": text}}}
                for name, text in item.items()
            ],
        }
        for index, item in enumerate(consumed)
    ]
    counters = {name: {"value": text} for name, text in offered.items()}
    pool = {"name": "n"}
    parts = [
        {"driver": worlds.DRIVER, "pool": pool, "devices": [*devices, {"name": "plain"}]},
        {
            "driver": worlds.DRIVER,
            "pool": pool,
            "sharedCounters": [{"name": "set", "counters": counters}],
        },
    ]
    return msgspec.convert(parts, list[observed_slices.SliceSpec])


COUNTERS: dict[str, tuple[list[dict[str, str]], dict[str, str], list[str], list[bool | None]]] = {
    # The amounts that devices consume, the amounts of the pool, the devices in use, the answers.
    "enough": ([{"a": "1", "b": "2"}], {"a": "1", "b": "2"}, [], [True]),
    "too little of one": ([{"a": "1", "b": "2"}], {"a": "9", "b": "1"}, [], [False]),
    "one is not declared": ([{"a": "1", "b": "2"}], {"a": "9"}, [], [None]),
    "none is declared": ([{"a": "1"}], {}, [], [None]),
    "used up by another one": ([{"a": "1"}, {"a": "1"}], {"a": "1"}, [D0], [False, False]),
    "left by another one": ([{"a": "1"}, {"a": "1"}], {"a": "2"}, [D0], [True, True]),
    "another one that is not declared": ([{"b": "1"}, {"a": "1"}], {"a": "1"}, [D0], [None, True]),
    "in use, but not here": ([{"a": "1"}], {"a": "1"}, [worlds.device("m", 0)], [True]),
}


@pytest.mark.parametrize(
    ("consumed", "offered", "in_use", "expected"), COUNTERS.values(), ids=COUNTERS
)
def test_counters_suffice(
    consumed: list[dict[str, str]],
    offered: dict[str, str],
    in_use: list[str],
    expected: list[bool | None],
) -> None:
    found = device_supply.enough_by_device(_specs(consumed, offered), in_use)
    assert found == {worlds.device("n", index): item for index, item in enumerate(expected)}


def test_amounts_of_one_counter_add_up() -> None:
    [device, counters] = _specs([{"a": "1"}], {"a": "1"})
    twice = msgspec.structs.replace(device.devices[0])
    twice = msgspec.structs.replace(twice, consumes_counters=twice.consumes_counters * 2)
    spec = msgspec.structs.replace(device, devices=[twice])
    assert device_supply.enough_by_device([spec, counters], []) == {D0: False}
