"""The search of claim_progress against the allocator: both find devices, or neither does."""

import os
import random
from collections.abc import Sequence
from typing import Any

import pytest

from harness.checks.progress import device_search, world_states
from harness.cluster.fake_nodes import fake_objects, pool_slices
from harness.model import naming
from harness.scenario import claim_specs
from harness.subject.allocation import allocated_states, allocators, inventories
from harness.traffic import objects
from tests.histories import worlds
from tests.model_based.allocation import drawn_pools

Object = dict[str, Any]
PROBLEMS = max(200, int(os.environ.get("FLAKE_HUNT_HISTORIES", "3000")) // 15)
CLAIMS_MAX = 12
"""Claims that are allocated one after the other."""


class Problem:
    """Pools and claims, and the allocator that gives devices to one claim after the other."""

    def __init__(self, seed: int) -> None:
        dice = random.Random(seed)
        self.pools = drawn_pools.pools_of(dice)
        self.kinds = [drawn_pools.claim_of(dice, self.pools) for _ in range(2)]
        self.dice = dice
        nodes = [naming.node(index) for index in range(self.pools.nodes)]
        slices = [
            item for node in nodes for item in pool_slices.of_node(self.pools, node, labels={})
        ]
        self.slices = [*slices, *pool_slices.of_cluster(self.pools, labels={})]
        self.nodes = [
            {"metadata": {"name": name, "labels": fake_objects.zone_labels(self.pools, index)}}
            for index, name in enumerate(nodes)
        ]
        self.classes = list(fake_objects.device_classes(self.pools, labels={}))
        self.state = allocated_states.AllocatedState()
        self.claims: list[Object] = []

    def next_claims(self) -> list[Object]:
        count = self.dice.choice([1, 1, 2])
        return [self._claim(len(self.claims) + number) for number in range(count)]

    def _claim(self, number: int) -> Object:
        name = f"c{number}"
        meta = {"name": name, "namespace": worlds.NAMESPACE, "uid": f"uid-{name}"}
        kind: claim_specs.ClaimSpec = self.dice.choice(self.kinds)
        return {
            "metadata": meta | {"resourceVersion": "0"},
            "spec": self.claim_spec(kind),
            "status": {},
        }

    def claim_spec(self, kind: claim_specs.ClaimSpec) -> Object:
        return objects.claim_spec(kind, self.pools)

    def allocate(self, claims: Sequence[Object]) -> bool:
        """Give devices to claims of one pod, if there are any for all of them."""
        by_name = {item["metadata"]["name"]: item for item in self.classes}
        snapshot = inventories.snapshot_of(self.slices)
        try:
            allocator = allocators.Allocator(snapshot, self.state, by_name, claims)
        except allocators.AllocationError:  # there is no such class
            return False
        for node in self.nodes:
            found = _allocation(allocator, node)
            if found is None:
                continue
            for claim, allocation in zip(claims, found, strict=True):
                self.state.add(allocation)
                claim["status"] = {"allocation": allocation}
            self.claims += claims
            return True
        return False

    def search(self, claims: Sequence[Object]) -> device_search.Found:
        world = worlds.World(
            slices=[_identified(item) for item in self.slices],
            claims=[*self.claims, *claims],
            classes=[_identified(item) for item in self.classes],
            nodes=[_identified(item) for item in self.nodes],
        )
        state = worlds.judged(world, plan=worlds.plan())[world_states.WorldState]
        wished = [state.claims[claim["metadata"]["uid"]] for claim in claims]
        search = device_search.DeviceSearch(state, {"pools": {}})
        return search.search(wished, None, beside={})


def _identified(item: Object) -> Object:
    meta = item["metadata"]
    return {**item, "metadata": {"uid": f"uid-{meta['name']}", **meta, "resourceVersion": "0"}}


def _allocation(allocator: allocators.Allocator, node: Object) -> list[Object] | None:
    try:
        return allocator.allocate(node)
    except allocators.AllocationError:  # more than 32 devices
        return None


def compare(seed: int) -> tuple[int, int]:
    """Compare both for one pod after the other; return how many were decided, and all of them."""
    problem, decided, made = Problem(seed), 0, 0
    while len(problem.claims) < CLAIMS_MAX:
        claims = problem.next_claims()
        found = problem.search(claims)
        is_there = problem.allocate(claims)
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
