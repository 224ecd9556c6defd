"""The search of claim_progress against the allocator: both find devices, or neither does."""

import os
import random
from collections.abc import Sequence
from typing import Any

import pytest

from harness.checks.progress import device_search, world_states
from tests.histories import worlds
from tests.model_based.allocation import drawn_pools

Object = dict[str, Any]
PROBLEMS = max(200, int(os.environ.get("FLAKE_HUNT_HISTORIES", "3000")) // 15)
CLAIMS_MAX = 12
"""Claims that are allocated one after the other."""


def search(cluster: drawn_pools.Cluster, claims: Sequence[Object]) -> device_search.Found:
    world = worlds.World(
        slices=[_identified(item) for item in cluster.slices],
        claims=[*cluster.claims, *claims],
        classes=[_identified(item) for item in cluster.classes],
        nodes=[_identified(item) for item in cluster.nodes],
    )
    state = worlds.judged(world, plan=worlds.plan())[world_states.WorldState]
    wished = [state.claims[claim["metadata"]["uid"]] for claim in claims]
    return device_search.DeviceSearch(state, {"pools": {}}).search(wished, None, beside={})


def _identified(item: Object) -> Object:
    meta = item["metadata"]
    return {**item, "metadata": {"uid": f"uid-{meta['name']}", **meta, "resourceVersion": "0"}}


def compare(seed: int) -> tuple[int, int]:
    """Compare both for one pod after the other; return how many were decided, and all of them."""
    dice, decided, made = random.Random(seed), 0, 0
    cluster = drawn_pools.Cluster(drawn_pools.pools_of(dice))
    kinds = [drawn_pools.claim_of(dice, cluster.pools) for _ in range(2)]
    while (already := len(cluster.claims)) < CLAIMS_MAX:
        count = dice.choice([1, 1, 2])
        claims = [cluster.claim(dice.choice(kinds), already + number) for number in range(count)]
        found, is_there = search(cluster, claims), cluster.allocate(claims)
        made += 1
        decided += not found.is_doubtful
        told = f"seed {seed}, pod {made}: {found}, allocator: {is_there}"
        assert (found.where is not None) is is_there or found.is_doubtful, told
        if not is_there:
            break
    return decided, made


@pytest.mark.parametrize("part", range(3))
def test_the_search_agrees_with_the_allocator(part: int) -> None:
    decided = made = 0
    for seed in range(part, PROBLEMS, 3):
        more, pods = compare(seed)
        decided, made = decided + more, made + pods
    assert decided > made * 0.95
