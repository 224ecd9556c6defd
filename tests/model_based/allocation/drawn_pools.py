"""Random pools of one or two kinds, claims for their devices, and the allocator that has them."""

import random
from collections.abc import Sequence
from typing import Any

from harness.cluster.fake_nodes import fake_objects, pool_slices
from harness.model import naming
from harness.scenario import claim_specs, pool_specs
from harness.subject.allocation import allocated_states, allocators, inventories
from harness.traffic import objects
from tests.histories import worlds

Object = dict[str, Any]


class Cluster:
    """The pools as objects, and the allocator that gives devices to one pod after the other."""

    def __init__(self, pools: pool_specs.PoolsSpec) -> None:
        self.pools = pools
        names = [naming.node(index) for index in range(pools.nodes)]
        slices = [item for name in names for item in pool_slices.of_node(pools, name, labels={})]
        self.slices = [*slices, *pool_slices.of_cluster(pools, labels={})]
        self.nodes: list[Object] = [
            {"metadata": {"name": name, "labels": fake_objects.zone_labels(pools, index)}}
            for index, name in enumerate(names)
        ]
        self.classes = list(fake_objects.device_classes(pools, labels={}))
        self.claims: list[Object] = []
        """Those that are allocated."""
        self._state = allocated_states.AllocatedState()

    def claim(self, kind: claim_specs.ClaimSpec, number: int) -> Object:
        name = f"c{number}"
        meta = {"name": name, "namespace": worlds.NAMESPACE, "uid": f"uid-{name}"}
        spec = objects.claim_spec(kind, self.pools)
        return {"metadata": meta | {"resourceVersion": "0"}, "spec": spec, "status": {}}

    def allocate(self, claims: Sequence[Object]) -> bool:
        """Give devices to claims of one pod, if there are any for all of them."""
        by_name = {item["metadata"]["name"]: item for item in self.classes}
        snapshot = inventories.snapshot_of(self.slices)
        try:
            allocator = allocators.Allocator(snapshot, self._state, by_name, claims)
        except allocators.AllocationError:  # there is no such class
            return False
        found = next(filter(None, (_allocation(allocator, node) for node in self.nodes)), None)
        if found is None:
            return False
        for claim, allocation in zip(claims, found, strict=True):
            self._state.add(allocation)
            claim["status"] = {"allocation": allocation}
        self.claims += claims
        return True


def _allocation(allocator: allocators.Allocator, node: Object) -> list[Object] | None:
    try:
        return allocator.allocate(node)
    except allocators.AllocationError:  # more than 32 devices
        return None


def pools_of(dice: random.Random) -> pool_specs.PoolsSpec:
    document = {
        "nodes": dice.randint(1, 3),
        "zones": 1,
        "devices_per_node": dice.randint(0, 3),
        "more": [_kind(dice, name) for name in ("a", "b")[: dice.randint(1, 2)]],
    }
    return pool_specs.PoolsSpec.model_validate(document)


def _kind(dice: random.Random, name: str) -> Object:
    kind: Object = {
        "name": name,
        "place": dice.choice(["node", "zone", "cluster", "device"]),
        "devices": dice.randint(1, 4),
    }
    if dice.random() < 0.5:
        kind |= {"shared": True, "capacity": {"memory": dice.choice(["4", "7"])}}
        if dice.random() < 0.5:
            policy = dice.choice([{"values": [1, 3]}, {"least": 1, "step": 2}, {"least": 1}])
            kind["policies"] = {"memory": {"default": 1, **policy}}
    if dice.random() < 0.4:
        kind["partitions"] = dice.choice([[1, 2], [2], [1, 3, 4]])
    if dice.random() < 0.3:
        kind["limit"] = dice.randint(1, 3)
    if dice.random() < 0.3:
        kind["taints"] = [{"key": "old", "every": dice.randint(1, 2)}]
    return kind


def claim_of(dice: random.Random, pools: pool_specs.PoolsSpec) -> claim_specs.ClaimSpec:
    names = ["", *(kind.name for kind in pools.more)]
    requests = [_request(dice, name, names) for name in ("x", "y")[: dice.randint(1, 2)]]
    return claim_specs.ClaimSpec.model_validate({"requests": requests})


def _request(dice: random.Random, name: str, pools: list[str]) -> Object:
    if dice.random() < 0.2:
        alternatives = [_wanted(dice, alternative, pools) for alternative in ("m", "n")]
        return {"name": name, "first_available": alternatives}
    return _wanted(dice, name, pools)


def _wanted(dice: random.Random, name: str, pools: list[str]) -> Object:
    wanted: Object = {"name": name, "pool": dice.choice(pools)}
    wanted |= {"all": True} if dice.random() < 0.1 else {"devices": dice.randint(1, 2)}
    if dice.random() < 0.3:
        wanted["capacity"] = {"memory": dice.choice(["1", "2", "4"])}
    if dice.random() < 0.4:
        wanted["tolerations"] = [{"key": "old"}]
    return wanted
