"""One claim for devices that a scheduler finds only if its search or its scores are right.

The allocation is the same in every interleaving.
"""

from typing import Any

from harness.explore.worlds import literals, world_fixtures, world_specs
from harness.explore.worlds.oracles import device_oracles
from harness.model.objects import Object

KIND = "gpu.example/kind"
_CLASS = {"deviceClassName": world_fixtures.DEVICE_CLASS}
_NONE = [{"cel": {"expression": "device.driver == 'none.example'"}}]
_ALL_OR_ONE = [
    {"name": "all", "allocationMode": "All", "selectors": _NONE, **_CLASS},
    {"name": "one", **_CLASS},
]
_ORACLES: tuple[world_specs.MakeOracle, ...] = (
    *world_specs.EXCLUSIVE,
    device_oracles.DeviceShares,
    device_oracles.GrantedDevices,
)


def _of_kinds(*kinds: Object) -> Object:
    named = enumerate(kinds)
    return world_fixtures.pool(
        [{"name": f"device-{index}", "attributes": {KIND: kind}} for index, kind in named]
    )


def _world(title: str, offered: Object, request: Object, **asked: Any) -> world_specs.WorldSpec:
    claim = {
        **world_fixtures.claim("claim-1"),
        "spec": {"devices": {"requests": [{"name": "device", **request}], **asked}},
    }
    made = [literals.there(offered), literals.there(claim), literals.pod("pod-1", "claim-1")]
    return literals.spec(title, made, oracles=_ORACLES, binders=1)


def _shared() -> Object:
    status = world_fixtures.allocated("device-0", node_name="network")
    del status["allocation"]["nodeSelector"]
    return {**world_fixtures.claim("shared"), "status": status}


WORLDS: dict[str, world_specs.WorldSpec] = {
    "lists-in-common": _world(
        "devices must have a value in common with the first one, and the second one misleads",
        _of_kinds(
            {"strings": ["a", "b"]}, {"strings": ["a"]}, {"strings": ["b", "c"]}, {"strings": ["b"]}
        ),
        {"exactly": {**_CLASS, "count": 3}},
        constraints=[{"matchAttribute": KIND}],
    ),
    "all-or-one": _world(
        "the first alternative asks for all devices of a kind of which there is none",
        _of_kinds({"string": "x"}),
        {"firstAvailable": _ALL_OR_ONE},
    ),
    "shared-and-own-claim": literals.spec(
        "a pod uses a claim that is allocated for all nodes, and one of its own",
        [
            literals.pool(name="worker-0"),
            literals.pool(name="worker-1"),
            literals.there(
                world_fixtures.pool(
                    world_fixtures.devices(1), name="network", nodeName=None, allNodes=True
                )
            ),
            literals.there(_shared()),
            *literals.claims(),
            literals.pod("pod-1", "shared", "claim-1"),
        ],
        oracles=_ORACLES,
        node_names=("worker-0", "worker-1"),
        binders=1,
    ),
}
