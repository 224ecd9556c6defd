"""The devices that a pod could have: what is certain, what is doubtful, and what is not there."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from harness.checks.progress import device_search, world_states
from tests.histories import worlds
from tests.support import cases, text_tables

Object = dict[str, Any]
D0 = worlds.device("n", 0)
DOUBT, NONE = "perhaps", "none"
SLICES: dict[str, Object] = cases.read(__file__, "slices")
WISHES: dict[str, list[Object]] = cases.read(__file__, "wishes")
CLASSES = {
    "other-class": worlds.device_class("other"),
    "class-refuses": worlds.device_class(worlds.CLASS, "device.driver == 'x'"),
}
RULES = {"rule": worlds.taint_rule("r"), "rule-d0": worlds.taint_rule("r", device="d0")}
NODES = {
    "node-m": worlds.node("m"),
    "node-m-a": worlds.node("m", zone="a"),
    "node-o-b": worlds.node("o", zone="b"),
}


def slice_of(
    *,
    node: str = "n",
    name: str = "",
    count: int = 2,
    every: Mapping[str, Any] | None = None,
    each: Sequence[Object] = (),
    consumed: Sequence[int] = (),
    slots: int = 3,
    pool: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Object:
    """A slice in the words of the table."""

    def counters(number: int) -> Object:
        return {"counters": {"slots": {"value": str(number)}}}

    made = worlds.devices_of(node, len(each or consumed) or count, **every or {})
    made["metadata"] |= {"name": name, "uid": f"uid-{name}"} if name else {}
    made["spec"]["pool"] |= pool or {}
    parts = each or [
        {"consumesCounters": [{"counterSet": "set", **counters(amount)}]} for amount in consumed
    ]
    for device, part in zip(made["spec"]["devices"], parts, strict=False):
        device |= part
    if consumed:
        made["spec"]["sharedCounters"] = [{"name": "set", **counters(slots)}]
    told = made["spec"] | spec
    return made | {"spec": {key: value for key, value in told.items() if value is not None}}


def wanted(name: str, requests: Sequence[Object], constraints: Sequence[Object] = ()) -> Object:
    """A claim in the words of the table, whose requests are r0, r1, …, and alternatives o0, …"""
    asked = []
    for number, request in enumerate(requests):
        options = [
            {"name": f"o{index}", "deviceClassName": worlds.CLASS, **option}
            for index, option in enumerate(request.get("firstAvailable", ()))
        ]
        exactly = {"exactly": {"deviceClassName": worlds.CLASS, **request}}
        more = {"firstAvailable": options} if options else exactly
        asked.append({"name": f"r{number}", **more})
    made = worlds.claim(name)
    made["spec"]["devices"] = {"requests": asked, "constraints": constraints}
    return made


def held(name: str, *devices: str, asked: Object | None = None, **row: Any) -> Object:
    made = worlds.claim(name, *devices, **asked or {})
    for result in made["status"]["allocation"]["devices"]["results"]:
        result |= row
    return made


def share(name: str, amount: str, **row: Any) -> Object:
    """A claim with a share of device 0; after `?` comes what it asks for, in place of its share."""
    if amount.startswith("?"):
        row["asked"] = {"capacity": {"requests": {"memory": amount[1:]}}}
    elif amount:
        row["consumedCapacity"] = {"memory": amount}
    return held(name, D0, shareID=name, **row)


def search(
    world: worlds.World,
    wish: str,
    settings: Object | None = None,
    nodes: Sequence[str] | None = None,
) -> str:
    """The devices for the claims of one pod, with their node; or DOUBT or NONE."""
    state = worlds.judged(world, plan=worlds.plan())[world_states.WorldState]
    claims = [wanted(f"wanted-{number}", **item) for number, item in enumerate(WISHES[wish])]
    wished = worlds.judged(worlds.World(claims=claims), plan=worlds.plan())[world_states.WorldState]
    given = worlds.SETTINGS if settings is None else settings
    tried = device_search.DeviceSearch(state, given)
    found = tried.search(list(wished.claims.values()), nodes, beside={})
    if found.where is None:
        return DOUBT if found.is_doubtful else NONE
    node, devices = found.where
    short = [name.removeprefix(f"{worlds.DRIVER}/").replace("/d", "") for name in devices]
    return f"{node}: {' '.join(short)}"


def there_is(text: str, holding: str) -> worlds.World:
    """The world that a case of device_supply.txt describes."""
    words = text.split()
    numbers = [word.removeprefix("counted:") for word in words if word.startswith("counted:")]
    classes = [] if "no-class" in words else [worlds.device_class(worlds.CLASS)]
    known = {*SLICES, *CLASSES, *RULES, *NODES, "no-class"}
    assert all(word in known or word.startswith("counted:") for word in words), text
    return worlds.World(
        slices=[*(slice_of(**item) for item in _among(SLICES, words)), *map(_counted, numbers)],
        claims=[_holding(word) for word in holding.split()],
        classes=_among(CLASSES, words) or classes,
        taint_rules=_among(RULES, words),
        nodes=_among(NODES, words),
    )


def _among(named: Mapping[str, Object], words: Sequence[str]) -> list[Object]:
    return [named[word] for word in words if word in named]


def _counted(text: str) -> Object:
    amounts, _, slots = text.partition("/")
    return slice_of(consumed=[*map(int, amounts.split(","))], slots=int(slots or 3))


def _holding(text: str) -> Object:
    admin = {"adminAccess": True} if text.endswith("!") else {}
    if "=" in text:
        name, _, amount = text.rstrip("!").partition("=")
        return share(name, amount, **admin)
    name, _, numbers = text.rstrip("!").partition(":")
    devices = [worlds.device("n", int(number)) for number in numbers.split(",")]
    return held(name, *devices, **admin)


@pytest.mark.parametrize(
    ("text", "holding", "wish", "expected"), text_tables.cases(__file__, "device_supply.txt")
)
def test_devices_for_a_pod(text: str, holding: str, wish: str, expected: str) -> None:
    assert search(there_is(text, holding), wish) == expected


@pytest.mark.parametrize(
    ("pools", "expected"),
    [
        ({"driver": "other"}, NONE),
        ({"owner": "two"}, NONE),
        ({"owner": "one"}, "n: n0"),
        ({"device_class": {"name": worlds.CLASS, "selectors": ["true"]}}, DOUBT),
    ],
)
def test_the_plan_tells_of_a_class_that_was_not_observed(pools: Object, expected: str) -> None:
    world = worlds.World(slices=[slice_of(every={"attributes": {"owner": {"string": "one"}}})])
    assert search(world, "one", {"pools": {**worlds.SETTINGS["pools"], **pools}}) == expected


def test_a_pod_that_fits_no_node_gets_no_device() -> None:
    assert search(there_is("of-all node-m", ""), "one", nodes=()) == NONE


def test_a_search_of_too_many_steps_is_a_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    world, wish = there_is("counted:2,2,2/5", ""), "three"
    assert search(world, wish) == NONE
    monkeypatch.setattr(device_search, "STEPS_MAX", 1)
    assert search(world, wish) == DOUBT


def test_devices_that_are_alike_are_tried_once() -> None:
    """Without that, the steps would not suffice for 20 of 40 partitions."""
    world = there_is(f"counted:{','.join('2' * 40)}/39", "")
    assert search(world, "twenty") == NONE
