"""How many claims the pools of a scenario can satisfy at once, from its numbers alone.

An upper bound: selectors, constraints, taints and steps of capacities may let fewer claims have
devices. It is exact for claims of a number of devices that are all alike.
"""

from collections.abc import Iterator

from harness.model import quantities
from harness.scenario import claim_specs, pool_kind_specs, pool_specs
from harness.scenario.fields import COUNT_MAX

UNLIMITED = COUNT_MAX
"""The most that can be asked for."""


def claims_at_once(pools: pool_specs.PoolsSpec, claim: claim_specs.ClaimSpec) -> int:
    """Return how many of these claims can be satisfied at once, at most."""
    return min(requests_at_once(pools, request) for request in claim.asked)


def requests_at_once(pools: pool_specs.PoolsSpec, request: claim_specs.RequestSpec) -> int:
    """Return how often a request can be satisfied at once, at most; 0: never."""
    found = sum(
        _at_once(pools, item) + _imported_at_once(pools, item) for item in request.alternatives
    )
    return UNLIMITED if request.admin_access and found else min(found, UNLIMITED)


def _imported_at_once(pools: pool_specs.PoolsSpec, item: claim_specs.AlternativeSpec) -> int:
    """Return how often devices of files can satisfy a request; the class may select all of them."""
    if not (pools.is_of_files(item.class_, item.pool) and pools.imported_devices):
        return 0
    return UNLIMITED if pools.has("shares") else pools.imported_devices // item.devices


def _at_once(pools: pool_specs.PoolsSpec, item: claim_specs.AlternativeSpec) -> int:
    """Return how often described devices can satisfy a request; all of them are one at least."""
    if item.class_:
        return 0
    sizes = [(_shares(kind, item), count) for kind, count in _kinds(pools, item.pool)]
    sizes = [(size, count) for size, count in sizes if size]
    if len(sizes) == 1:
        [(size, count)] = sizes
        return count * (size // item.devices)
    return sum(size * count for size, count in sizes) // item.devices


def _kinds(
    pools: pool_specs.PoolsSpec, name: str
) -> Iterator[tuple[pool_kind_specs.PoolKindSpec, int]]:
    """Yield each kind of pools with the number of its pools; `name` empty: all kinds."""
    if pools.devices_per_node and not name:
        of_nodes = pool_kind_specs.PoolKindSpec.model_construct(
            name="", devices=pools.devices_per_node, capacity=pools.capacity
        )
        yield of_nodes, pools.nodes
    for kind in pools.more:
        if name in ("", kind.name):
            yield kind, pools.pool_count(kind)


def _shares(kind: pool_kind_specs.PoolKindSpec, item: claim_specs.AlternativeSpec) -> int:
    """Return how many devices, or shares of them, a pool can give away at once."""
    devices = min(kind.devices * max(kind.partitions or [1]), kind.limit or UNLIMITED)
    if item.capacity.keys() - kind.capacity.keys():
        return 0
    of_each = UNLIMITED if kind.shared else 1
    for name, whole in kind.capacity.items():
        policy = kind.policies.get(name)
        taken = quantities.amount(item.capacity.get(name) or (policy.default if policy else whole))
        if taken:
            of_each = min(of_each, int(quantities.amount(whole) // taken))
    return min(devices * of_each, UNLIMITED)
