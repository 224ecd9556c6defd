"""Random pools of one or two kinds, and claims for their devices."""

import random
from typing import Any

from harness.scenario import claim_specs, pool_specs

Object = dict[str, Any]


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
