"""The possibility check against the allocator: what can be allocated is never called impossible."""

import random
from typing import Any

import pytest

from harness.scenario import claim_specs, pool_specs, possibility
from tests.model_based.allocation import drawn_pools

Object = dict[str, Any]
SCENARIOS = 300


def allocate(pools: pool_specs.PoolsSpec, claim: claim_specs.ClaimSpec, limit: int) -> int:
    """How many of the claims the allocator satisfies, one after the other, up to a limit."""
    cluster = drawn_pools.Cluster(pools)
    while len(cluster.claims) < limit:
        if not cluster.allocate([cluster.claim(claim, len(cluster.claims))]):
            break
    return len(cluster.claims)


def test_no_claim_that_can_be_satisfied_is_refused() -> None:
    satisfied = reached = 0
    for seed in range(SCENARIOS):
        dice = random.Random(seed)
        pools = drawn_pools.pools_of(dice)
        claim = drawn_pools.claim_of(dice, pools)
        bound = possibility.claims_at_once(pools, claim)
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
    assert possibility.claims_at_once(pools, claim) == claims
    if "partitions" not in kind:  # first fit takes the whole device, not its parts
        assert allocate(pools, claim, claims + 1) == claims
