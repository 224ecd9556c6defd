"""Known defects of the allocator that show in every interleaving: a table of small worlds.

They miscount what is held, get quantities or copies wrong, miss a solution or find one that is
none. One run of each world is enough.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

from harness.apiserver.scheme import resources
from harness.explore.search import explored_run, random_strategies
from harness.explore.worlds import literals, parts, world_fixtures, world_specs
from harness.explore.worlds.scheduling import tried_devices

Object = dict[str, Any]
KIND = tried_devices.KIND
SHARE = "b1d3c8f0-6f0e-4c4e-9a55-0c8f6a1f3e77"
OTHER_DRIVER = "other.example"
LARGE = 2**47
"""More than a machine word holds in Go, as `128Ti`."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Row:
    """Slices, claims, each of a pod that comes when all is at rest, and what these get."""

    defects: Sequence[str]
    offered: Sequence[Object]
    asked: Sequence[Object]
    """`spec.devices` of each claim."""
    granted: Sequence[object]
    """The devices of each claim, or all that its results say and its configuration; None: it must
    wait."""
    held: Sequence[Object] = ()
    """Results of claims that are allocated."""
    later: Sequence[parts.Part] = ()
    nodes: int = 1


# ------------------------------------------------------------------ what is offered


def device(
    name: str, *, memory: object = None, kind: str = "", whole: str = "whole", **more: Any
) -> Object:
    found: Object = {"name": name, **more}
    if memory is not None:
        found["consumesCounters"] = [{"counterSet": whole, "counters": amount(memory)}]
    if kind:
        found["attributes"] = {KIND: {"string": kind}}
    return found


def amount(value: object) -> Object:
    return {"memory": {"value": str(value)}}


def shared(name: str, **more: Any) -> Object:
    return device(name, allowMultipleAllocations=True, **more)


def capacity(total: object, **policy: Any) -> Object:
    return {"memory": {"value": str(total), **({"requestPolicy": policy} if policy else {})}}


def counted(
    total: object, *devices: Object, driver: str = world_fixtures.DRIVER, whole: str = "whole"
) -> list[Object]:
    counters = [{"name": whole, "counters": amount(total)}]
    return world_fixtures.counted_pool(devices, counters, driver=driver)


def of_kinds(kinds: str) -> list[Object]:
    return [world_fixtures.pool([device(f"device-{n}", kind=kind) for n, kind in enumerate(kinds)])]


def result(name: str, **more: Any) -> Object:
    place = {"driver": world_fixtures.DRIVER, "pool": world_fixtures.NODE, "device": name}
    return {"request": "device", **place, **more}


# ------------------------------------------------------------------ what is asked for

CLASS = {"deviceClassName": world_fixtures.DEVICE_CLASS}
ALTERNATIVES = {"name": "any", "firstAvailable": [{"name": key, **CLASS} for key in "ab"]}
TAINT = {"key": "broken", "value": "yes", "effect": "NoExecute"}
TOLERATION = {"key": "broken", "operator": "Exists", "effect": "NoExecute"}
HALVES = {"default": "500m", "validRange": {"min": "500m", "step": "500m"}}
PAIRS = {"default": "2", "validRange": {"min": "2", "step": "2"}}
DRIVER = [{"cel": {"expression": f"device.driver == '{world_fixtures.DRIVER}'"}}]
OTHERS = [{"cel": {"expression": f"device.driver == '{OTHER_DRIVER}'"}}]


def exactly(name: str = "device", **fields: Any) -> Object:
    return {"name": name, "exactly": {**CLASS, **fields}}


def asks(*requests: Object, **more: Any) -> Object:
    return {"requests": list(requests) or [exactly()], **more}


def memory(wanted: object, **more: Any) -> Object:
    return asks(exactly(capacity={"requests": {"memory": str(wanted)}}, **more))


def config(*requests: str) -> list[Object]:
    opaque = {"driver": world_fixtures.DRIVER, "parameters": {"mode": "fast"}}
    return [{"requests": list(requests), "opaque": opaque}]


ONE = ["device-0"]
ROWS = {
    "a share without consumed capacity has all counters, and another share is asked": Row(
        defects=["each-share-charged", "share-charged-again"],
        offered=counted(10, shared("device-0", memory=10)),
        held=[result("device-0", shareID=SHARE)],
        asked=[asks()],
        granted=[ONE],
    ),
    "a claim asks for two shares of a device that has all counters": Row(
        defects=["each-share-charged"],
        offered=counted(10, shared("device-0", memory=10)),
        asked=[asks(exactly("one"), exactly("other"))],
        granted=[ONE * 2],
    ),
    "a claim wants admin access to a device in use that has all counters": Row(
        defects=["admin-access-charged"],
        offered=counted(10, device("device-0", memory=10)),
        held=[result("device-0")],
        asked=[asks(exactly(adminAccess=True))],
        granted=[ONE],
    ),
    "a device consumes less than nothing, and another one more than there is": Row(
        defects=["negative-counters"],
        offered=counted(10, device("device-0", memory=-10), device("device-1", memory=20)),
        asked=[asks(exactly(count=2))],
        granted=[None],
    ),
    "of devices of 100Ti, which consume 128Ti, claims want two, one and one": Row(
        defects=["counters-changed"],
        offered=counted(LARGE, *(device(f"device-{n}", memory=100 * 2**40) for n in range(2))),
        asked=[asks(exactly(count=2)), asks(), asks()],
        granted=[None, ONE, None],
    ),
    "a partition that a claim holds is withdrawn, and another one would overlap with it": Row(
        defects=["gone-device-not-counted"],
        offered=counted(10, device("device-0", memory=8), device("device-1", memory=8)),
        later=[
            literals.does(
                "drop_device", f"pool-{world_fixtures.NODE}-devices.{world_fixtures.DRIVER}"
            )
        ],
        held=[result("device-0")],
        asked=[asks()],
        granted=[None],
    ),
    "a claim asks for 2^63 - 1 of a device that has 10, in steps of 2": Row(
        defects=["capacity-wraps"],
        offered=[world_fixtures.pool([shared("device-0", capacity=capacity(10, **PAIRS))])],
        asked=[memory(2**63 - 1)],
        granted=[None],
    ),
    "a claim asks for -5 of a device that has 10": Row(
        defects=["negative-capacity"],
        offered=[world_fixtures.pool([shared("device-0", capacity=capacity(10))])],
        asked=[memory(-5)],
        granted=[None],
    ),
    "a share of 500m is taken of 2, and another claim asks for 1500m": Row(
        defects=["ranges-in-integers"],
        offered=[world_fixtures.pool([shared("device-0", capacity=capacity(2, **HALVES))])],
        held=[result("device-0", shareID=SHARE, consumedCapacity={"memory": "500m"})],
        asked=[memory("1500m")],
        granted=[ONE],
    ),
    "a claim asks for all devices, and the capacity of one of them is used up": Row(
        defects=["all-in-part"],
        offered=[
            world_fixtures.pool([shared(f"device-{n}", capacity=capacity(1)) for n in (0, 1)])
        ],
        held=[result("device-0", shareID=SHARE, consumedCapacity={"memory": "1"})],
        asked=[memory(1, allocationMode="All")],
        granted=[None],
    ),
    "a device in a share is published as one that cannot be shared": Row(
        defects=["share-taken-whole"],
        offered=[world_fixtures.pool([shared("device-0")])],
        later=[literals.does("share_devices", f"pool-{world_fixtures.NODE}")],
        held=[result("device-0", shareID=SHARE)],
        asked=[asks()],
        granted=[None],
    ),
    "a claim tolerates the taint of the only device": Row(
        defects=["tolerations-lost"],
        offered=[world_fixtures.pool([device("device-0", taints=[TAINT])])],
        asked=[asks(exactly(tolerations=[TOLERATION]))],
        granted=[([result("device-0", tolerations=[TOLERATION])], [])],
    ),
    "a claim has one configuration for two requests": Row(
        defects=["config-repeated"],
        offered=[world_fixtures.pool(world_fixtures.devices(2))],
        asked=[asks(exactly("one"), exactly("other"), config=config("one", "other"))],
        granted=[
            (
                [
                    {**result("device-0"), "request": "one"},
                    {**result("device-1"), "request": "other"},
                ],
                config("one", "other"),
            )
        ],
    ),
    "a claim has a configuration for two alternatives of one of its two requests": Row(
        defects=["config-widened"],
        offered=[world_fixtures.pool(world_fixtures.devices(2))],
        asked=[asks(ALTERNATIVES, exactly("other"), config=config("any/a", "any/b"))],
        granted=[
            (
                [
                    {**result("device-0"), "request": "any/a"},
                    {**result("device-1"), "request": "other"},
                ],
                config("any/a", "any/b"),
            )
        ],
    ),
    "a claim asks for all devices of a node, and the pool of another one is incomplete": Row(
        defects=["all-ends-attempt"],
        offered=[
            world_fixtures.pool(
                world_fixtures.devices(1),
                pool={"name": "worker-0", "generation": 1, "resourceSliceCount": 2},
            ),
            world_fixtures.pool(world_fixtures.devices(1), name="worker-1"),
        ],
        asked=[asks(exactly(allocationMode="All"))],
        granted=[ONE],
        nodes=2,
    ),
    "a constraint refuses a device that would consume what the next one needs": Row(
        defects=["counters-not-given-back"],
        offered=counted(
            10,
            device("device-0", kind="x", memory=2),
            device("device-1", kind="y", memory=8),
            device("device-2", kind="x", memory=8),
        ),
        asked=[asks(exactly(count=2), constraints=[{"matchAttribute": KIND}])],
        granted=[["device-0", "device-2"]],
    ),
    "two drivers have pools of one name, and both have counters": Row(
        defects=["counters-by-pool-name"],
        offered=[
            *counted(10, device("device-0", memory=1)),
            *counted(
                10,
                *(device(f"other-{n}", memory=n[0], whole="other") for n in ("8a", "8b", "2")),
                driver=OTHER_DRIVER,
                whole="other",
            ),
        ],
        asked=[asks(exactly("first", selectors=DRIVER), exactly(selectors=OTHERS, count=2))],
        granted=[["device-0", "other-8a", "other-2"]],
    ),
    "one request wants three devices that differ, and there are two of a kind": Row(
        defects=["distinct-by-request"],
        offered=of_kinds("xyxz"),
        asked=[asks(exactly(count=3), constraints=[{"distinctAttribute": KIND}])],
        granted=[["device-0", "device-1", "device-3"]],
    ),
    "a request for all devices, which consume counters": Row(
        defects=["all-with-counters"],
        offered=counted(10, device("device-0", memory=4)),
        asked=[asks(exactly(allocationMode="All"))],
        granted=[ONE],
    ),
}


def world(row: Row) -> world_specs.WorldSpec:
    held = [
        {
            **world_fixtures.claim(f"held-{n}"),
            "status": {"allocation": {"devices": {"results": [item]}}},
        }
        for n, item in enumerate(row.held)
    ]
    asked = [
        {**world_fixtures.claim(f"claim-{n}"), "spec": {"devices": devices}}
        for n, devices in enumerate(row.asked, start=1)
    ]
    made = [
        literals.there(*row.offered),
        *map(literals.there, (*held, *asked)),
        *row.later,
        *(dataclasses.replace(pod, when=parts.AT_REST) for pod in literals.pods(len(row.asked))),
    ]
    nodes = [f"worker-{n}" for n in range(row.nodes)]
    return literals.spec("", made, oracles=(), at_rest=(), node_names=nodes, binders=1)


def granted(row: Row, *defects: str) -> list[object] | str:
    """Return what the claims get in the end, as far as the row tells it; or how the run failed."""
    replay = random_strategies.Replay(())
    run = explored_run.explore_once(world(row), replay, defects=defects, record=True)
    claims: dict[str, Object] = {}
    for _, commit in run.commits:
        if commit.resource is resources.CLAIMS:
            claims[commit.object.name] = commit.object.document().get("status", {})
    return run.finding or [
        told(claims[f"claim-{number}"], expected)
        for number, expected in enumerate(row.granted, start=1)
    ]


def told(status: Object, expected: object) -> object:
    if "allocation" not in status:
        return None
    devices = status["allocation"]["devices"]
    if not isinstance(expected, tuple):
        return [item["device"] for item in devices["results"]]
    copied = [{key: it[key] for key in it if key != "source"} for it in devices.get("config", ())]
    return devices["results"], copied
