"""The possibility check against the allocator: what can be allocated is never called impossible."""

import random
from typing import Any

import pytest

from harness.cluster.fake_nodes import fake_objects, pool_slices
from harness.model import naming
from harness.scenario import claim_specs, device_supply, pool_specs
from harness.subject.allocation import allocated_states, allocators, inventories
from harness.traffic import claim_requests

Object = dict[str, Any]
SCENARIOS = 300


def pools_of(dice: random.Random) -> pool_specs.PoolsSpec:
    """Few nodes with pools of one or two kinds, with whatever pools can have."""
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
    """One or two requests."""
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


def allocate(pools: pool_specs.PoolsSpec, claim: claim_specs.ClaimSpec, limit: int) -> int:
    """How many of the claims the allocator satisfies, one after the other, up to a limit."""
    nodes = [naming.node(index) for index in range(pools.nodes)]
    slices = [piece for node in nodes for piece in pool_slices.of_node(pools, node, labels={})]
    snapshot = inventories.snapshot_of([*slices, *pool_slices.of_cluster(pools, labels={})])
    classes = fake_objects.device_classes(pools, labels={})
    by_name = {item["metadata"]["name"]: item for item in classes}
    state = allocated_states.AllocatedState()
    for number in range(limit):
        made = {
            "metadata": {"name": f"c{number}", "namespace": "n", "uid": f"u{number}"},
            "spec": claim_requests.claim_spec(claim, pools),
        }
        allocator = allocators.Allocator(snapshot, state, by_name, [made])
        found = [_allocation(allocator, pools, index) for index in range(pools.nodes)]
        allocation = next(filter(None, found), None)
        if allocation is None:
            return number
        state.add(allocation)
    return limit


def _allocation(
    allocator: allocators.Allocator, pools: pool_specs.PoolsSpec, index: int
) -> Object | None:
    labels = fake_objects.zone_labels(pools, index)
    try:
        found = allocator.allocate({"metadata": {"name": naming.node(index), "labels": labels}})
    except allocators.AllocationError:  # more than 32 devices
        return None
    return found[0] if found else None


def test_no_claim_that_can_be_satisfied_is_refused() -> None:
    satisfied = reached = 0
    for seed in range(SCENARIOS):
        dice = random.Random(seed)
        pools = pools_of(dice)
        claim = claim_of(dice, pools)
        bound = device_supply.claims_at_once(pools, claim)
        made = allocate(pools, claim, min(bound + 1, 40))
        assert made <= bound, f"seed {seed}"
        satisfied += made > 0
        reached += made == bound
    assert satisfied > SCENARIOS // 3
    assert reached > SCENARIOS // 3


@pytest.mark.parametrize(
    ("kind", "request_keys", "claims"),
    [
        ({"devices": 5}, {"devices": 2}, 6),
        ({"devices": 5, "place": "cluster"}, {}, 5),
        ({"devices": 5, "place": "zone"}, {"devices": 2}, 2),
        ({"devices": 6, "place": "device"}, {}, 6),
        ({"devices": 5, "limit": 2}, {}, 6),
        ({"devices": 5, "limit": 2, "place": "cluster"}, {}, 2),
        ({"devices": 1, "partitions": [1, 4]}, {}, 12),
        ({"devices": 1, "shared": True, "capacity": {"m": "8Gi"}}, {"capacity": {"m": "3Gi"}}, 6),
        ({"devices": 4, "taints": [{"key": "old", "every": 2}]}, {}, 6),
        ({"devices": 4}, {"all": True}, 3),
    ],
)
def test_the_bound_is_reached_where_nothing_stands_in_the_way(
    kind: Object, request_keys: Object, claims: int
) -> None:
    pools = pool_specs.PoolsSpec.model_validate(
        {
            "nodes": 3,
            "zones": 1,
            "devices_per_node": 0,
            "more": [{"name": "a", "devices": 1, **kind}],
        }
    )
    claim = claim_specs.ClaimSpec.model_validate(
        {"requests": [{"name": "x", "pool": "a", **request_keys}]}
    )
    assert device_supply.claims_at_once(pools, claim) == claims
    if "partitions" not in kind:  # first fit takes the whole device, not its parts
        assert allocate(pools, claim, claims + 1) == claims
