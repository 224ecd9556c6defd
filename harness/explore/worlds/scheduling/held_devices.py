"""Devices that claims hold already, and pods whose claims are tried beside them.

The allocations are the same in every interleaving: these worlds are for the defects of the
allocator that miscount what is held, or that get quantities or copies wrong. Some pods have to
wait.
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from harness.apiserver.scheme import resources
from harness.explore.runtime import scheduler
from harness.explore.worlds import small_world, world_fixtures, world_specs
from harness.explore.worlds.oracles import (
    asked_devices,
    device_exclusivity,
    device_shares,
    protocol,
)
from harness.model.objects import Object

_SHARE = "b1d3c8f0-6f0e-4c4e-9a55-0c8f6a1f3e77"
_SET = "whole"
_CLASS = {"deviceClassName": world_fixtures.DEVICE_CLASS}
_LARGE = 2**47
"""More than a machine word holds in Go, as `128Ti`."""


class HeldDevices(small_world.SmallWorld):
    """Slices, claims that have devices of them, and pods each of which has a claim of its own."""

    judged_by: Sequence[Callable[[], protocol.Oracle]] = (
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
        offered: Sequence[Object],
        asked: Sequence[Object],
        held: Sequence[Object] = (),
        later: Sequence[Object] = (),
        waiting: int = 0,
        nodes: int = 1,
    ) -> None:
        """`offered`: the slices; `asked`: `spec.devices` of the claim of each pod.

        `held`: results of claims that are allocated; `later`: slices that take the place of those
        of their names when these are; `waiting`: number of pods for which there is nothing.
        """
        self._offered, self._asked, self._held = offered, asked, held
        self._later, self._waiting, self._nodes = [*later], waiting, nodes
        super().__init__(spec, runtime, defects=defects, remedies=remedies)

    def objects(self) -> Iterable[Object]:
        """Return the nodes, the slices, and the claims."""
        yield world_fixtures.admin_namespace()
        yield world_fixtures.device_class()
        for index in range(self._nodes):
            yield world_fixtures.node(f"worker-{index}")
        yield from self._offered
        for index, result in enumerate(self._held):
            claim = world_fixtures.claim(f"held-{index}")
            yield {**claim, "status": {"allocation": {"devices": {"results": [result]}}}}
        for index, devices in enumerate(self._asked):
            yield {**world_fixtures.claim(f"claim-{index + 1}"), "spec": {"devices": devices}}

    def begin(self) -> None:
        """Publish the later slices; without any, create the pods."""
        if not self._later:
            self._create_pods()
        for piece in self._later:
            stored = self.store.get(resources.SLICES, "", piece["metadata"]["name"])
            document = {**stored.document(), "spec": piece["spec"]}
            self.store.update(resources.SLICES, "", stored.name, document)

    def go_on(self) -> bool:
        """Create the pods when the scheduler has seen the later slices."""
        is_left = bool(self._later)
        if is_left:
            self._later.clear()
            self._create_pods()
        return is_left

    def _create_pods(self) -> None:
        for index in range(len(self._asked)):
            self.create(world_fixtures.pod(f"pod-{index + 1}", f"claim-{index + 1}"))

    def unbound(self) -> str | None:
        """Return whether another number of pods waits than has to; None if not."""
        pods = [*self.documents(resources.PODS)]
        names = [pod["metadata"]["name"] for pod in pods if "nodeName" not in pod["spec"]]
        if len(names) < self._waiting:
            return f"bound: expected {self._waiting} pods to wait, got {len(names)}"
        return f"stuck: {', '.join(names)} not bound" if len(names) > self._waiting else None


class NoMoreShared(HeldDevices):
    """A device changes into one that cannot be shared, so that its shares look wrong."""

    judged_by: Sequence[Callable[[], protocol.Oracle]] = (device_exclusivity.DeviceExclusivity,)


class MixedClaims(HeldDevices):
    """The pod uses a claim that has a device of every node, and one of its own."""

    def _create_pods(self) -> None:
        names = {"shared": "held-0", "own": "claim-1"}
        entries = [{"name": key, "resourceClaimName": name} for key, name in names.items()]
        self.create(world_fixtures.pod("pod-1", "claim-1", resourceClaims=entries))


# ------------------------------------------------------------------ what is offered


def _device(name: str, *, memory: object = None, **more: Any) -> Object:
    """Return a device that consumes this much of a counter; None: it consumes nothing."""
    found: Object = {"name": name, **more}
    if memory is not None:
        found["consumesCounters"] = [{"counterSet": _SET, "counters": _memory(memory)}]
    return found


def _memory(amount: object) -> Object:
    return {"memory": {"value": str(amount)}}


def _shared(name: str, **more: Any) -> Object:
    return _device(name, allowMultipleAllocations=True, **more)


def _capacity(total: object, **policy: Any) -> Object:
    entry: Object = {"value": str(total)}
    return {"memory": {**entry, "requestPolicy": policy} if policy else entry}


def _with_counters(total: object, *devices: Object) -> list[Object]:
    pool = {"name": world_fixtures.NODE, "generation": 1, "resourceSliceCount": 2}
    counters = world_fixtures.pool([], slice_name="counters", pool=pool)
    spec = {key: value for key, value in counters["spec"].items() if key != "devices"}
    spec["sharedCounters"] = [{"name": _SET, "counters": _memory(total)}]
    return [
        {**counters, "spec": spec},
        world_fixtures.pool(devices, slice_name="devices", pool=pool),
    ]


def _result(device: str, **more: Any) -> Object:
    place = {"driver": world_fixtures.DRIVER, "pool": world_fixtures.NODE, "device": device}
    return {"request": "device", **place, **more}


# ------------------------------------------------------------------ what is asked for


def _exactly(name: str = "device", **exactly: Any) -> Object:
    return {"name": name, "exactly": {**_CLASS, **exactly}}


def _asks(*requests: Object, **more: Any) -> Object:
    return {"requests": list(requests) or [_exactly()], **more}


def _of_memory(amount: object, **more: Any) -> Object:
    return _asks(_exactly(capacity={"requests": {"memory": str(amount)}}, **more))


def _config(*requests: str) -> list[Object]:
    opaque = {"driver": world_fixtures.DRIVER, "parameters": {"mode": "fast"}}
    return [{"requests": list(requests), "opaque": opaque}]


_TAINT = {"key": "broken", "value": "yes", "effect": "NoExecute"}
_TOLERATION = {"key": "broken", "operator": "Exists", "effect": "NoExecute"}
_ALTERNATIVES = {"name": "any", "firstAvailable": [{"name": key, **_CLASS} for key in "ab"]}
_HALVES = {"default": "500m", "validRange": {"min": "500m", "step": "500m"}}
_PAIRS = {"default": "2", "validRange": {"min": "2", "step": "2"}}
_INCOMPLETE = {"name": "worker-0", "generation": 1, "resourceSliceCount": 2}


def _world(
    title: str, kind: type[HeldDevices] = HeldDevices, **given: Any
) -> world_specs.WorldSpec:
    return world_specs.spec(functools.partial(kind, **given), title, binders=(1, 1))


WORLDS: dict[str, world_specs.WorldSpec] = {
    "second-share-with-counters": _world(
        "a device in a share without consumed capacity has all counters, and another share is asked",
        offered=_with_counters(10, _shared("device-0", memory=10)),
        held=[_result("device-0", shareID=_SHARE)],
        asked=[_asks()],
    ),
    "two-shares-with-counters": _world(
        "a claim asks for two shares of a device that has all counters",
        offered=_with_counters(10, _shared("device-0", memory=10)),
        asked=[_asks(_exactly("one"), _exactly("other"))],
    ),
    "monitor-with-counters": _world(
        "a claim wants admin access to a device in use that has all counters",
        offered=_with_counters(10, _device("device-0", memory=10)),
        held=[_result("device-0")],
        asked=[_asks(_exactly(adminAccess=True))],
    ),
    "negative-counters": _world(
        "a device consumes less than nothing, and another one more than there is",
        offered=_with_counters(10, _device("device-0", memory=-10), _device("device-1", memory=20)),
        asked=[_asks(_exactly(count=2))],
        waiting=1,
    ),
    "large-counters": _world(
        "of devices of 100Ti, which consume 128Ti, a claim wants two, and two claims want one",
        offered=_with_counters(
            _LARGE, *(_device(f"device-{n}", memory=100 * 2**40) for n in range(2))
        ),
        asked=[_asks(_exactly(count=2)), _asks(), _asks()],
        waiting=2,
    ),
    "partition-left": _world(
        "a partition that a claim holds is withdrawn, and another one would overlap with it",
        offered=_with_counters(10, _device("device-0", memory=8), _device("device-1", memory=8)),
        later=_with_counters(10, _device("device-1", memory=8))[1:],
        held=[_result("device-0")],
        asked=[_asks()],
        waiting=1,
    ),
    "largest-capacity": _world(
        "a claim asks for 2^63 - 1 of a device that has 10, in steps of 2",
        offered=[world_fixtures.pool([_shared("device-0", capacity=_capacity(10, **_PAIRS))])],
        asked=[_of_memory(2**63 - 1)],
        waiting=1,
    ),
    "negative-capacity": _world(
        "a claim asks for -5 of a device that has 10",
        offered=[world_fixtures.pool([_shared("device-0", capacity=_capacity(10))])],
        asked=[_of_memory(-5)],
        waiting=1,
    ),
    "steps-of-a-half": _world(
        "a share of 500m is taken of 2, and another claim asks for 1500m",
        offered=[world_fixtures.pool([_shared("device-0", capacity=_capacity(2, **_HALVES))])],
        held=[_result("device-0", shareID=_SHARE, consumedCapacity={"memory": "500m"})],
        asked=[_of_memory("1500m")],
    ),
    "all-of-shared-devices": _world(
        "a claim asks for all devices, and the capacity of one of them is used up",
        offered=[
            world_fixtures.pool([_shared(f"device-{n}", capacity=_capacity(1)) for n in range(2)])
        ],
        held=[_result("device-0", shareID=_SHARE, consumedCapacity={"memory": "1"})],
        asked=[_of_memory(1, allocationMode="All")],
        waiting=1,
    ),
    "shared-no-more": _world(
        "a device in a share is published as one that cannot be shared",
        NoMoreShared,
        offered=[world_fixtures.pool([_shared("device-0")])],
        later=[world_fixtures.pool([_device("device-0")])],
        held=[_result("device-0", shareID=_SHARE)],
        asked=[_asks()],
        waiting=1,
    ),
    "tolerated-taint": _world(
        "a claim tolerates the taint of the only device",
        offered=[world_fixtures.pool([_device("device-0", taints=[_TAINT])])],
        asked=[_asks(_exactly(tolerations=[_TOLERATION]))],
    ),
    "config-of-two-requests": _world(
        "a claim has one configuration for two requests",
        offered=[world_fixtures.pool(world_fixtures.devices(2))],
        asked=[_asks(_exactly("one"), _exactly("other"), config=_config("one", "other"))],
    ),
    "config-of-alternatives": _world(
        "a claim has a configuration for two alternatives of one of its two requests",
        offered=[world_fixtures.pool(world_fixtures.devices(2))],
        asked=[_asks(_ALTERNATIVES, _exactly("other"), config=_config("any/a", "any/b"))],
    ),
    "all-beside-incomplete": _world(
        "a claim asks for all devices of a node, and the pool of another node is incomplete",
        offered=[
            world_fixtures.pool(world_fixtures.devices(1), pool=_INCOMPLETE),
            world_fixtures.pool(world_fixtures.devices(1), name="worker-1"),
        ],
        asked=[_asks(_exactly(allocationMode="All"))],
        nodes=2,
    ),
    "shared-and-own-claim": _world(
        "a pod uses a claim that is allocated for all nodes, and one of its own",
        MixedClaims,
        offered=[
            *(
                world_fixtures.pool(world_fixtures.devices(1), name=f"worker-{index}")
                for index in range(2)
            ),
            {
                **world_fixtures.pool(world_fixtures.devices(1), name="network"),
                "spec": {
                    "driver": world_fixtures.DRIVER,
                    "allNodes": True,
                    "pool": {"name": "network", "generation": 1, "resourceSliceCount": 1},
                    "devices": world_fixtures.devices(1),
                },
            },
        ],
        held=[{**_result("device-0"), "pool": "network"}],
        asked=[_asks()],
        nodes=2,
    ),
}
