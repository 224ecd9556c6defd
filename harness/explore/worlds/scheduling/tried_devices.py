"""One claim whose devices are found only by a search that gives some of them up again.

The allocation is the same in every interleaving. These worlds are for the defects of the allocator
that miss a solution, find one that is none, or end the process.
"""

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from harness.apiserver.scheme import feature_gates
from harness.explore.runtime import scheduler
from harness.explore.worlds import small_world, world_fixtures, world_specs
from harness.explore.worlds.oracles import (
    asked_devices,
    device_exclusivity,
    device_shares,
)
from harness.model.objects import Object

Pools = Callable[[], Iterable[Object]]
KIND = "gpu.example/kind"
_OTHER_DRIVER = "other.example"


class TriedDevices(small_world.SmallWorld):
    """A pod with a claim that can be allocated on the only node."""

    judged_by = (
        device_exclusivity.DeviceExclusivity,
        device_shares.DeviceShares,
        asked_devices.AskedDevices,
    )

    def __init__(
        self,
        spec: world_specs.WorldSpec,
        runtime: scheduler.ControlledRuntime,
        *,
        defects: Sequence[str],
        remedies: Sequence[str] = (),
        offered: Pools,
        asked: Object,
    ) -> None:
        self._offered, self._asked = offered, asked
        with list_attributes():
            super().__init__(spec, runtime, defects=defects, remedies=remedies)

    def objects(self) -> Iterable[Object]:
        """Return the node, its slices, and the claim."""
        yield world_fixtures.node()
        yield world_fixtures.device_class()
        yield from self._offered()
        yield {**world_fixtures.claim("claim-1"), "spec": {"devices": self._asked}}

    def begin(self) -> None:
        """Create the pod."""
        self.create(world_fixtures.pod("pod-1", "claim-1"))


@contextlib.contextmanager
def list_attributes() -> Iterator[None]:
    """Let slices have attributes that are lists, as with the gate of the API server."""
    was_on = feature_gates.is_on(feature_gates.LIST_ATTRIBUTES)
    feature_gates.choose({feature_gates.LIST_ATTRIBUTES: True})
    try:
        yield
    finally:
        feature_gates.choose({feature_gates.LIST_ATTRIBUTES: was_on})


# ------------------------------------------------------------------ what is offered


def _device(name: str, *, kind: Object | None = None, memory: int = 0) -> Object:
    found: Object = {"name": name}
    if kind is not None:
        found["attributes"] = {KIND: kind}
    if memory:
        found["consumesCounters"] = [{"counterSet": "whole", "counters": _memory(memory)}]
    return found


def _memory(amount: int) -> Object:
    return {"memory": {"value": str(amount)}}


def _with_counters(
    devices: Sequence[Object], *, memory: int, driver: str = world_fixtures.DRIVER
) -> Iterable[Object]:
    pool = {"name": world_fixtures.NODE, "generation": 1, "resourceSliceCount": 2}
    counters = [{"name": "whole", "counters": _memory(memory)}]
    of_both: Object = {"driver": driver, "pool": pool}
    first = world_fixtures.pool([], slice_name=f"counters.{driver}", **of_both)
    del first["spec"]["devices"]
    yield {**first, "spec": {**first["spec"], "sharedCounters": counters}}
    yield world_fixtures.pool(devices, slice_name=f"devices.{driver}", **of_both)


def _refused_between() -> Iterable[Object]:
    """Offer x (2), y (8) and x (8) of 10: x and x fit, and y must not keep its 8."""
    kinds = (("x", 2), ("y", 8), ("x", 8))
    devices = [
        _device(f"device-{index}", kind={"string": kind}, memory=memory)
        for index, (kind, memory) in enumerate(kinds)
    ]
    return _with_counters(devices, memory=10)


def _of_two_drivers() -> Iterable[Object]:
    """Offer a device of one driver, and of another one 8, 8 and 2 of 10, in pools of one name."""
    yield from _with_counters([_device("device-0", memory=1)], memory=10)
    others = [_device(f"other-{amount}", memory=int(amount[0])) for amount in ("8a", "8b", "2")]
    for piece in _with_counters(others, memory=10, driver=_OTHER_DRIVER):
        if "sharedCounters" in piece["spec"]:
            piece["spec"]["sharedCounters"][0]["name"] = "other"
        for device in piece["spec"].get("devices") or ():
            device["consumesCounters"][0]["counterSet"] = "other"
        yield piece


def _plain(*kinds: Object) -> Iterable[Object]:
    """Offer devices with these values of the attribute."""
    named = enumerate(kinds)
    return [world_fixtures.pool([_device(f"device-{index}", kind=kind) for index, kind in named])]


# ------------------------------------------------------------------ what is asked for


def _request(name: str = "device", **exactly: Any) -> Object:
    return {"name": name, "exactly": {"deviceClassName": world_fixtures.DEVICE_CLASS, **exactly}}


def _of_driver(driver: str) -> list[Object]:
    return [{"cel": {"expression": f"device.driver == {driver!r}"}}]


_PLAIN_CLASS = {"deviceClassName": world_fixtures.DEVICE_CLASS}
_ALL_OR_ONE = {
    "name": "device",
    "firstAvailable": [
        {
            "name": "all",
            "allocationMode": "All",
            "selectors": _of_driver("none.example"),
            **_PLAIN_CLASS,
        },
        {"name": "one", **_PLAIN_CLASS},
    ],
}


def _world(title: str, offered: Pools, *requests: Object, **asked: Any) -> world_specs.WorldSpec:
    make = functools.partial(
        TriedDevices, offered=offered, asked={"requests": list(requests), **asked}
    )
    return world_specs.spec(make, title, binders=(1, 1))


WORLDS: dict[str, world_specs.WorldSpec] = {
    "refused-between": _world(
        "a constraint refuses a device that would consume what the next one needs",
        _refused_between,
        _request(count=2),
        constraints=[{"matchAttribute": KIND}],
    ),
    "pools-of-one-name": _world(
        "two drivers have pools of one name, and both have counters",
        _of_two_drivers,
        _request("first", selectors=_of_driver(world_fixtures.DRIVER)),
        _request("second", count=2, selectors=_of_driver(_OTHER_DRIVER)),
    ),
    "three-distinct-devices": _world(
        "one request wants three devices that differ, and there are two of a kind",
        lambda: _plain({"string": "x"}, {"string": "y"}, {"string": "x"}, {"string": "z"}),
        _request(count=3),
        constraints=[{"distinctAttribute": KIND}],
    ),
    "lists-in-common": _world(
        "devices must have a value in common with the first one, and the second one misleads",
        lambda: _plain(
            {"strings": ["a", "b"]}, {"strings": ["a"]}, {"strings": ["b", "c"]}, {"strings": ["b"]}
        ),
        _request(count=3),
        constraints=[{"matchAttribute": KIND}],
    ),
    "all-with-counters": _world(
        "a request for all devices, which consume counters",
        lambda: _with_counters([_device("device-0", memory=4)], memory=10),
        _request(allocationMode="All"),
    ),
    "all-or-one": _world(
        "the first alternative asks for all devices of a kind of which there is none",
        lambda: _plain({"string": "x"}),
        _ALL_OR_ONE,
    ),
}
