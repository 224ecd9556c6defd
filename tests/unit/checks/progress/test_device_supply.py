"""The devices that a pod could have: what is certain, what is doubtful, and what is not there."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from harness.checks.progress import device_search, world_states
from tests.histories import worlds
from tests.support import text_tables

Object = dict[str, Any]
D0 = worlds.device("n", 0)
DOUBT, NONE = "perhaps", "none"
CLASS = worlds.device_class(worlds.CLASS)
MEMORY = f"{worlds.DRIVER}/memory"
SHARED: Object = {"allowMultipleAllocations": True, "capacity": {MEMORY: {"value": "4Gi"}}}
CORES = {**SHARED["capacity"], "cores": {"value": "2"}}
TAINT = {"key": "k", "effect": "NoSchedule"}


def slice_of(*, count: int = 2, name: str = "n", **fields: Any) -> Object:
    made = worlds.devices_of("n", count, **fields)
    made["metadata"] |= {"name": name, "uid": f"uid-{name}"}
    return made


def generation(number: int, count: int, name: str, *, devices: int = 2) -> Object:
    made = slice_of(name=name, count=devices)
    made["spec"]["pool"] |= {"generation": number, "resourceSliceCount": count}
    return made


def counted(*amounts: int, slots: int = 3, pool: str = "n", **fields: Any) -> Object:
    """A slice whose devices consume these numbers of slots; the pool has `slots`."""
    made = worlds.devices_of(pool, len(amounts), **fields)
    made["spec"]["nodeName"] = "n"
    for device, amount in zip(made["spec"]["devices"], amounts, strict=True):
        counters = {"slots": {"value": str(amount)}}
        device["consumesCounters"] = [{"counterSet": "set", "counters": counters}]
    made["spec"]["sharedCounters"] = [{"name": "set", "counters": {"slots": {"value": str(slots)}}}]
    return made


def everywhere(piece: Object, selector: Object | None = None) -> Object:
    """The same slice for all nodes, or for those that a selector admits."""
    made = copy.deepcopy(piece)
    del made["spec"]["nodeName"]
    made["spec"] |= {"nodeSelector": selector} if selector else {"allNodes": True}
    return made


def labelled(key: str, value: str) -> Object:
    wanted = {"key": key, "operator": "In", "values": [value]}
    return {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}


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


def wanted(**exactly: Any) -> Object:
    return worlds.claim("wanted", **exactly)


def memory(amount: str, **fields: Any) -> Object:
    return wanted(capacity={"requests": {"memory": amount}}, **fields)


def cel(expression: str) -> Object:
    return wanted(selectors=[{"cel": {"expression": expression}}])


def requests(*made: Object, constraints: Sequence[Object] = ()) -> Object:
    claim = wanted()
    claim["spec"]["devices"] = {
        "requests": [
            {"name": f"r{number}", "exactly": {"deviceClassName": worlds.CLASS, **item}}
            if "firstAvailable" not in item
            else {"name": f"r{number}", **item}
            for number, item in enumerate(made)
        ],
        "constraints": list(constraints),
    }
    return claim


def search(
    world: worlds.World,
    claims: Sequence[Object],
    settings: Object | None = None,
    nodes: Sequence[str] | None = None,
) -> str:
    """The devices for the claims of one pod, with their node; or DOUBT or NONE."""
    state = worlds.judged(world, plan=worlds.plan())[world_states.WorldState]
    wished = worlds.judged(worlds.World(claims=claims), plan=worlds.plan())[world_states.WorldState]
    given = worlds.SETTINGS if settings is None else settings
    tried = device_search.DeviceSearch(state, given)
    found = tried.search(list(wished.claims.values()), nodes, beside={})
    if found.where is None:
        return DOUBT if found.is_doubtful else NONE
    node, devices = found.where
    short = [name.removeprefix(f"{worlds.DRIVER}/").replace("/d", "") for name in devices]
    return f"{node}: {' '.join(short)}"


ONE_OF_IT: Object = {"count": 1}
OTHER = worlds.claim("other")
X = "device.attributes['a.example'].x"
WITH_X: Object = {"attributes": {"a.example/x": {"bool": True}}}
TWO_OF_MODEL = [{"matchAttribute": "gpu.example/model"}]
TWO_GI: Object = {"capacity": {"requests": {"memory": "2Gi"}}}
COLOURS = slice_of(count=3)
for made, colour in zip(COLOURS["spec"]["devices"], ("red", "blue", "blue"), strict=True):
    made["attributes"] = {"colour": {"string": colour}, "bare": {"bool": True}}
MATCH, DISTINCT, LACKING = (
    [{kind: f"{worlds.DRIVER}/{name}"}]
    for kind, name in (
        ("matchAttribute", "colour"),
        ("distinctAttribute", "colour"),
        ("matchAttribute", "size"),
    )
)


def alternatives(*options: Object) -> Object:
    numbered = [
        {"name": f"o{index}", "deviceClassName": worlds.CLASS, **option}
        for index, option in enumerate(options)
    ]
    return {"firstAvailable": numbered}


ALL: Object = {"allocationMode": "All"}
TWO, THREE, FOUR = ({"count": count} for count in (2, 3, 4))
UNDECLARED = counted(1)
del UNDECLARED["spec"]["sharedCounters"]
HALF_USED = counted(1)
HALF_USED["spec"]["devices"][0]["consumesCounters"][0]["counters"]["more"] = {"value": "1"}
HALF_USED["spec"]["sharedCounters"][0]["counters"]["more"] = {"value": "0"}
OTHER_DRIVER = slice_of(name="a")
OTHER_DRIVER["spec"]["driver"] = "other"
BROKEN = generation(1, 2, "b")
BROKEN["spec"]["pool"] = {"name": "q", "generation": 1, "resourceSliceCount": 2}
SLICES = {
    "single": slice_of(count=1),
    "two": slice_of(),
    "forty": slice_of(count=40),
    "old": generation(1, 1, "old"),
    "new-of-one": generation(2, 1, "new", devices=1),
    "new-half": generation(2, 2, "new"),
    "half-a": generation(1, 2, "a"),
    "half-b": generation(1, 2, "b"),
    "awaited": slice_of(bindingConditions=["ready"]),
    "tainted": slice_of(taints=[TAINT]),
    "harmless": slice_of(taints=[{**TAINT, "effect": "None"}]),
    "model": slice_of(attributes={"model": {"string": "a"}}),
    "one-with-x": slice_of(count=1, **WITH_X),
    "shared": slice_of(count=1, **SHARED),
    "shared-cores": slice_of(count=1, **SHARED | {"capacity": CORES}),
    "shared-counted": counted(2, slots=2, **SHARED),
    "broken-q": BROKEN,
    "broken-of-zone-b": everywhere(BROKEN, labelled("zone", "b")),
    "colours": COLOURS,
    "undeclared": UNDECLARED,
    "half-used": HALF_USED,
    "other-driver": OTHER_DRIVER,
    "counted-q": counted(2, pool="q"),
    "m": worlds.devices_of("m", 1),
    "of-all": everywhere(slice_of()),
    "of-all-m": everywhere(worlds.devices_of("m", 1)),
    "of-zone-b": everywhere(slice_of(), labelled("zone", "b")),
}
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
WISHES = {
    "one": [wanted()],
    "two": [wanted(count=2)],
    "33": [wanted(count=33)],
    "all": [wanted(allocationMode="All")],
    "all-of-none": [wanted(allocationMode="All", selectors=[{"cel": {"expression": "false"}}])],
    "admin": [wanted(adminAccess=True)],
    "tolerant": [wanted(tolerations=[{"operator": "Exists"}])],
    "tolerant-of-v": [wanted(tolerations=[{"key": "k", "value": "v"}])],
    "of-other-class": [wanted(deviceClassName="other")],
    "of-driver": [cel(f"device.driver == '{worlds.DRIVER}'")],
    "of-x": [cel("device.driver == 'x'")],
    "blue": [cel(f"device.attributes['{worlds.DRIVER}'].colour == 'blue'")],
    "unreadable": [cel("isNewIn2030(device)")],
    "with-x": [cel(X)],
    "with-x-and-one": [requests({"selectors": [{"cel": {"expression": X}}]}, ONE_OF_IT)],
    **{amount: [memory(amount)] for amount in ("1", "1Gi", "4Gi", "5Gi", "1025Mi")},
    "a-core": [wanted(capacity={"requests": {"cores": "1"}})],
    "two-of-1Gi": [memory("1Gi", count=2)],
    "2Gi-and-2Gi": [requests(TWO_GI, TWO_GI)],
    "one-and-one": [requests(ONE_OF_IT, ONE_OF_IT)],
    "claim-and-claim": [wanted(), OTHER],
    "admin-and-admin": [requests({"adminAccess": True}, {"adminAccess": True})],
    "admin-and-claim": [wanted(adminAccess=True), OTHER],
    "matching": [requests(ONE_OF_IT, ONE_OF_IT, constraints=TWO_OF_MODEL)],
    "three-or-two": [requests(alternatives(THREE, TWO))],
    "two-alike": [requests(TWO, constraints=MATCH)],
    "one-and-two-alike": [OTHER, requests(TWO, constraints=MATCH)],
    "three-alike": [requests(THREE, constraints=MATCH)],
    "two-different": [requests(TWO, constraints=DISTINCT)],
    "three-different": [requests(THREE, constraints=DISTINCT)],
    "two-of-a-size": [requests(TWO, constraints=LACKING)],
    "one-and-one-alike": [requests(ONE_OF_IT, ONE_OF_IT, constraints=MATCH)],
    "three-and-others-alike": [requests(THREE, constraints=[{**MATCH[0], "requests": ["x"]}])],
    "one-and-an-admin": [requests(ONE_OF_IT, {"adminAccess": True})],
    "two-and-two": [requests(TWO, TWO)],
    "four-or-two-alike": [requests(alternatives(FOUR, TWO), constraints=MATCH)],
    "two-alike-in-an-alternative": [
        requests(alternatives(TWO), constraints=[{**MATCH[0], "requests": ["r0/o0"]}])
    ],
    "all-or-one": [requests(alternatives(ALL, ONE_OF_IT))],
    "four-or-all": [requests(alternatives(FOUR, ALL))],
    "four-or-five": [requests(alternatives(FOUR, {"count": 5}))],
    "four-and-others-alike": [requests(FOUR, {"deviceClassName": "other"}, constraints=MATCH)],
    "four-or-others": [requests(alternatives(FOUR, {"deviceClassName": "other"}))],
    "seven-of-two": [requests(*[alternatives({}, {})] * 7)],
}


def there_is(text: str, holding: str) -> worlds.World:
    """The world that a case of device_supply.txt describes."""
    words = text.split()
    numbers = [word.removeprefix("counted:") for word in words if word.startswith("counted:")]
    classes = [] if "no-class" in words else [CLASS]
    known = {*SLICES, *CLASSES, *RULES, *NODES, "no-class"}
    assert all(word in known or word.startswith("counted:") for word in words), text
    return worlds.World(
        slices=[*_among(SLICES, words), *map(_counted, numbers)],
        claims=[_holding(word) for word in holding.split()],
        classes=_among(CLASSES, words) or classes,
        taint_rules=_among(RULES, words),
        nodes=_among(NODES, words),
    )


def _among(named: Mapping[str, Object], words: Sequence[str]) -> list[Object]:
    return [named[word] for word in words if word in named]


def _counted(text: str) -> Object:
    amounts, _, slots = text.partition("/")
    return counted(*map(int, amounts.split(",")), slots=int(slots or 3))


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
    assert search(there_is(text, holding), WISHES[wish]) == expected


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
    world = worlds.World(slices=[slice_of(attributes={"owner": {"string": "one"}})])
    assert search(world, [wanted()], {"pools": {**worlds.SETTINGS["pools"], **pools}}) == expected


def test_a_pod_that_fits_no_node_gets_no_device() -> None:
    assert search(there_is("of-all node-m", ""), [wanted()], nodes=()) == NONE


def test_a_search_of_too_many_steps_is_a_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    world, wish = there_is("counted:2,2,2/5", ""), [wanted(count=3)]
    assert search(world, wish) == NONE
    monkeypatch.setattr(device_search, "STEPS_MAX", 1)
    assert search(world, wish) == DOUBT


def test_devices_that_are_alike_are_tried_once() -> None:
    """Without that, the steps would not suffice for 20 of 40 partitions."""
    world = there_is(f"counted:{','.join('2' * 40)}/39", "")
    assert search(world, [wanted(count=20)]) == NONE
