"""The devices that a pod could have: what is certain, what is doubtful, and what is not there."""

import copy
from collections.abc import Sequence
from typing import Any

import pytest

from harness.checks import world_states
from harness.checks.progress import device_search, device_supply, request_fits
from tests.histories import worlds

Object = dict[str, Any]
D0, D1, D2 = (worlds.device("n", index) for index in range(3))
DOUBT, NONE = "it may be", "there is none"
CLASS = worlds.device_class(worlds.CLASS)
SHARED: Object = {"allowMultipleAllocations": True, "capacity": {"memory": {"value": "4Gi"}}}
TAINT = {"key": "k", "effect": "NoSchedule"}


def slice_of(*, count: int = 2, name: str = "n", **fields: Any) -> Object:
    made = worlds.devices_of("n", count, **fields)
    made["metadata"] |= {"name": name, "uid": f"uid-{name}"}
    return made


def generation(number: int, count: int, name: str, *, devices: int = 2) -> Object:
    made = slice_of(name=name, count=devices)
    made["spec"]["pool"] |= {"generation": number, "resourceSliceCount": count}
    return made


def counted(*amounts: int, slots: int = 3, **fields: Any) -> Object:
    """A slice whose devices consume these numbers of slots; the pool has `slots`."""
    made = worlds.devices_of("n", len(amounts), **fields)
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


def held(name: str, *devices: str, **row: Any) -> Object:
    made = worlds.claim(name, *devices)
    for result in made["status"]["allocation"]["devices"]["results"]:
        result |= row
    return made


def share(name: str, amount: str | None) -> Object:
    """A claim with a share of device 0."""
    consumed = {} if amount is None else {"consumedCapacity": {"memory": amount}}
    return held(name, D0, shareID=name, **consumed)


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


def search(world: worlds.World, claims: Sequence[Object], settings: Object | None = None) -> str:
    """The devices for claims of one pod, with their node; or DOUBT or NONE."""
    state = worlds.judged(world, plan=worlds.plan())[world_states.WorldState]
    wished = worlds.judged(worlds.World(claims=claims), plan=worlds.plan())[world_states.WorldState]
    supply = device_supply.DeviceSupply(state)
    fits = request_fits.RequestFits(state, worlds.SETTINGS if settings is None else settings)
    found = device_search.DeviceSearch(supply, fits).search(
        list(wished.claims.values()), None, beside={}
    )
    if found.where is None:
        return DOUBT if found.is_doubtful else NONE
    return f"{found.where[0]}: {', '.join(found.where[1])}"


def case(
    *slices: Object,
    wish: Object | Sequence[Object] | None = None,
    claims: Sequence[Object] = (),
    classes: Sequence[Object] = (CLASS,),
    **world: Any,
) -> tuple[worlds.World, Sequence[Object]]:
    made = [wanted()] if wish is None else [wish] if isinstance(wish, dict) else wish
    return worlds.World(slices=slices, claims=claims, classes=classes, **world), made


MODEL = {"attributes": {"model": {"string": "a"}}}
MATCH = [{"matchAttribute": "gpu.example/model"}]
BOTH = f"n: {D0}, {D1}"
FEW = ({"count": 1}, {"count": 1})
CASES: dict[str, tuple[tuple[worlds.World, Sequence[Object]], str]] = {
    "idle": (case(slice_of()), f"n: {D0}"),
    "enough": (case(slice_of(), wish=wanted(count=2)), BOTH),
    "one in use": (case(slice_of(), claims=[held("a", D0)]), f"n: {D1}"),
    "all in use": (case(slice_of(), claims=[held("a", D0, D1)]), NONE),
    "too few left": (case(slice_of(), claims=[held("a", D0)], wish=wanted(count=2)), NONE),
    "more than a claim can have": (case(slice_of(count=40), wish=wanted(count=33)), NONE),
    "only admin access": (
        case(slice_of(), claims=[held("a", D0, adminAccess=True)], wish=wanted(count=2)),
        BOTH,
    ),
    "in use, for admin access": (
        case(slice_of(), claims=[held("a", D0, D1)], wish=wanted(adminAccess=True)),
        f"n: {D0}",
    ),
    "admin access takes no counters": (
        case(counted(2, slots=2), claims=[held("a", D0)], wish=wanted(adminAccess=True)),
        f"n: {D0}",
    ),
    "an old generation": (
        case(generation(1, 1, "old"), generation(2, 1, "new", devices=1)),
        f"n: {D0}",
    ),
    "a generation that is not complete": (
        case(generation(1, 1, "old"), generation(2, 2, "new")),
        NONE,
    ),
    "two devices of one name": (case(generation(1, 2, "a"), generation(1, 2, "b")), NONE),
    "binding conditions": (case(slice_of(bindingConditions=["ready"])), DOUBT),
    # ------------------------------------------------------------------------- taints
    "tainted": (case(slice_of(taints=[TAINT])), NONE),
    "tainted without effect": (case(slice_of(taints=[{**TAINT, "effect": "None"}])), f"n: {D0}"),
    "tolerated": (
        case(slice_of(taints=[TAINT]), wish=wanted(tolerations=[{"operator": "Exists"}])),
        f"n: {D0}",
    ),
    "another value tolerated": (
        case(slice_of(taints=[TAINT]), wish=wanted(tolerations=[{"key": "k", "value": "v"}])),
        NONE,
    ),
    "tainted by a rule": (case(slice_of(), taint_rules=[worlds.taint_rule("r")]), NONE),
    "another one is tainted by a rule": (
        case(slice_of(), taint_rules=[worlds.taint_rule("r", device="d0")]),
        f"n: {D1}",
    ),
    # ------------------------------------------------------------------------- classes
    "no such class": (case(slice_of(), classes=[worlds.device_class("other")]), NONE),
    "a class that was not observed": (case(slice_of(), classes=[]), f"n: {D0}"),
    "another class that was not observed": (
        case(slice_of(), classes=[], wish=wanted(deviceClassName="other")),
        DOUBT,
    ),
    "refused by the class": (
        case(slice_of(), classes=[worlds.device_class(worlds.CLASS, "device.driver == 'x'")]),
        NONE,
    ),
    "selected": (case(slice_of(), wish=cel(f"device.driver == '{worlds.DRIVER}'")), f"n: {D0}"),
    "not selected": (case(slice_of(), wish=cel("device.driver == 'x'")), NONE),
    "a selector that is not known": (case(slice_of(), wish=cel("isNewIn2030(device)")), DOUBT),
    "a selector that fails on all": (
        case(slice_of(), wish=cel("device.attributes['a.example'].x")),
        NONE,
    ),
    "a selector that fails on another device": (
        case(
            {**slice_of(count=1, attributes={"a.example/x": {"bool": True}})},
            everywhere(worlds.devices_of("m", 1)),
            wish=cel("device.attributes['a.example'].x"),
        ),
        DOUBT,
    ),
    # ------------------------------------------------------------------------- nodes
    "of all nodes": (
        case(everywhere(slice_of()), nodes=[worlds.node("m")]),
        f"m: {D0}",
    ),
    "of no node that is there": (case(slice_of(), nodes=[worlds.node("m")]), NONE),
    "of nodes with a label": (
        case(
            everywhere(slice_of(), labelled("zone", "b")),
            nodes=[worlds.node("m", zone="a"), worlds.node("o", zone="b")],
        ),
        f"o: {D0}",
    ),
    "of nodes that nobody knows": (case(everywhere(slice_of(), labelled("zone", "b"))), DOUBT),
    # ------------------------------------------------------------------------- shares
    "room for a share": (
        case(slice_of(count=1, **SHARED), claims=[share("a", "3Gi")], wish=memory("1Gi")),
        f"n: {D0}",
    ),
    "no room for a share": (
        case(slice_of(count=1, **SHARED), claims=[share("a", "3Gi")], wish=memory("1025Mi")),
        NONE,
    ),
    "a share of all by default": (case(slice_of(count=1, **SHARED), claims=[share("a", "1")]), NONE),
    "a share that says nothing takes its default": (
        case(slice_of(count=1, **SHARED), claims=[share("a", None)], wish=memory("1")),
        NONE,
    ),
    "a share of less than nothing makes no room": (
        case(slice_of(count=1, **SHARED), claims=[share("a", "-4Gi")], wish=memory("5Gi")),
        NONE,
    ),
    "two shares for two requests": (
        case(
            slice_of(count=1, **SHARED),
            wish=requests(*({"capacity": {"requests": {"memory": "2Gi"}}},) * 2),
        ),
        f"n: {D0}, {D0}",
    ),
    "two shares for one request": (
        case(slice_of(count=1, **SHARED), wish=memory("1Gi", count=2)),
        NONE,
    ),
    "a capacity that is not there": (
        case(slice_of(), wish=memory("1Gi")),
        NONE,
    ),
    "held alone before it was shared": (
        case(slice_of(count=1, **SHARED), claims=[held("a", D0)], wish=memory("1Gi")),
        NONE,
    ),
    "shared before it was alone": (case(slice_of(count=1), claims=[share("a", "1Gi")]), NONE),
    # ------------------------------------------------------------------------- counters
    "counters suffice for one": (case(counted(2, 2)), f"n: {D0}"),
    "counters do not suffice for two": (case(counted(2, 2), wish=wanted(count=2)), NONE),
    "partitions of different sizes": (case(counted(3, 2, 1), wish=wanted(count=2)), f"n: {D1}, {D2}"),
    "counters that a device in use has": (case(counted(2, 2), claims=[held("a", D0)]), NONE),
    "counters of shares are consumed once": (
        case(counted(2, slots=2, **SHARED), claims=[share("a", "1Gi")], wish=memory("1Gi")),
        f"n: {D0}",
    ),
    "counters of two shares at once": (
        case(
            counted(2, slots=2, **SHARED),
            wish=requests(*({"capacity": {"requests": {"memory": "2Gi"}}},) * 2),
        ),
        f"n: {D0}, {D0}",
    ),
    "less than nothing of a counter": (case(counted(-1)), NONE),
    "a device in use gives no counters back": (
        case(counted(-1, 2, slots=1), claims=[held("a", D0)]),
        NONE,
    ),
    "a device in use has left its slices": (
        case(counted(1), claims=[held("a", worlds.device("n", 7))]),
        NONE,
    ),
    "beyond 64 bits": (case(counted(2**70, 1, slots=2**70)), f"n: {D0}"),
    # ------------------------------------------------------------------------- all devices
    "all devices": (case(slice_of(), wish=wanted(allocationMode="All")), BOTH),
    "not quite all devices": (
        case(slice_of(), claims=[held("a", D0)], wish=wanted(allocationMode="All")),
        NONE,
    ),
    "all devices with a tainted one": (
        case(
            slice_of(),
            taint_rules=[worlds.taint_rule("r", device="d0")],
            wish=wanted(allocationMode="All"),
        ),
        NONE,
    ),
    "all of none": (
        case(slice_of(), wish={**cel("false"), **wanted(allocationMode="All", selectors=[{"cel": {"expression": "false"}}])}),
        NONE,
    ),
    "all devices with counters": (case(counted(1, 2), wish=wanted(allocationMode="All")), BOTH),
    "all devices beyond the counters": (
        case(counted(2, 2), wish=wanted(allocationMode="All")),
        NONE,
    ),
    "all devices of a node with a broken pool": (
        case(
            slice_of(),
            {**generation(1, 2, "b"), "spec": {**generation(1, 2, "b")["spec"], "pool": {"name": "q", "generation": 1, "resourceSliceCount": 2}}},
            wish=wanted(allocationMode="All"),
        ),
        NONE,
    ),
    "all devices of a node without it": (
        case(
            {**generation(1, 2, "b"), "spec": {**generation(1, 2, "b")["spec"], "pool": {"name": "q", "generation": 1, "resourceSliceCount": 2}}},
            worlds.devices_of("m", 1),
            wish=wanted(allocationMode="All"),
        ),
        f"m: {worlds.device('m', 0)}",
    ),
    # ------------------------------------------------------------------------- several
    "two requests": (case(slice_of(), wish=requests(*FEW)), BOTH),
    "two claims": (case(slice_of(), wish=[wanted(), worlds.claim("other")]), BOTH),
    "two claims for one device": (
        case(slice_of(count=1), wish=[wanted(), worlds.claim("other")]),
        NONE,
    ),
    "admin access twice in a claim": (
        case(slice_of(count=1), wish=requests({"adminAccess": True}, {"adminAccess": True})),
        NONE,
    ),
    "admin access beside another claim": (
        case(slice_of(count=1), wish=[wanted(adminAccess=True), worlds.claim("other")]),
        DOUBT,
    ),
    "constraints": (case(slice_of(**MODEL), wish=requests(*FEW, constraints=MATCH)), BOTH),
    "constraints without the attribute": (
        case(slice_of(), wish=requests(*FEW, constraints=MATCH)),
        NONE,
    ),
    "the second alternative": (
        case(
            slice_of(),
            wish=requests(
                {
                    "firstAvailable": [
                        {"name": "x", "deviceClassName": worlds.CLASS, "count": 3},
                        {"name": "y", "deviceClassName": worlds.CLASS, "count": 2},
                    ]
                }
            ),
        ),
        BOTH,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("given", "expected"), CASES.values(), ids=CASES)
def test_devices_for_a_pod(given: tuple[worlds.World, Sequence[Object]], expected: str) -> None:
    assert search(*given) == expected


@pytest.mark.parametrize(
    ("pools", "expected"),
    [
        ({"driver": "other"}, NONE),
        ({"owner": "two"}, NONE),
        ({"owner": "one"}, f"n: {D0}"),
        ({"device_class": {"name": worlds.CLASS, "selectors": ["true"]}}, DOUBT),
    ],
)
def test_the_plan_tells_of_a_class_that_was_not_observed(pools: Object, expected: str) -> None:
    world, wish = case(slice_of(attributes={"owner": {"string": "one"}}), classes=[])
    assert search(world, wish, {"pools": {**worlds.SETTINGS["pools"], **pools}}) == expected


def test_a_search_of_too_many_steps_is_a_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    world, wish = case(counted(2, 2, 2, slots=5), wish=wanted(count=3))
    assert search(world, wish) == NONE
    monkeypatch.setattr(device_search, "STEPS_MAX", 1)
    assert search(world, wish) == DOUBT


def test_devices_that_are_alike_are_tried_once() -> None:
    """Without that, the steps would not suffice for 20 of 40 partitions."""
    world, wish = case(counted(*[2] * 40, slots=39), wish=wanted(count=20))
    assert search(world, wish) == NONE
