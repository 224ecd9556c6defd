"""How many claims the pools of a scenario can satisfy at once, from its numbers alone.

An upper bound: selectors and constraints may let fewer claims have devices. It is exact for claims
of a number of devices that are all alike. Nothing else of a scenario is looked at.
"""

from collections.abc import Iterator
from fractions import Fraction

from harness.model import quantities
from harness.scenario import claim_specs, pool_kind_specs, pool_specs
from harness.scenario.fields import COUNT_MAX

UNLIMITED = COUNT_MAX
"""The most that can be asked for."""
_BLOCKING = ("NoSchedule", "NoExecute")


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
    if pools.has("shares"):
        return UNLIMITED
    return pools.nodes if item.all else pools.imported_devices // item.devices


def is_exact(pools: pool_specs.PoolsSpec, claim: claim_specs.ClaimSpec) -> bool:
    """Return whether `claims_at_once` is reached, if the selectors match all devices."""
    return claim.is_plain and pools.is_plain


def kinds(
    pools: pool_specs.PoolsSpec, name: str = ""
) -> Iterator[tuple[pool_kind_specs.PoolKindSpec, int]]:
    """Yield each kind of pools with the number of its pools; `name` empty: all kinds."""
    if pools.devices_per_node and not name:
        yield _of_nodes(pools), pools.nodes
    for kind in pools.more:
        if name in ("", kind.name):
            yield kind, pools.pool_count(kind)


def _of_nodes(pools: pool_specs.PoolsSpec) -> pool_kind_specs.PoolKindSpec:
    return pool_kind_specs.PoolKindSpec.model_construct(
        name="", devices=pools.devices_per_node, capacity=pools.capacity
    )


def _at_once(pools: pool_specs.PoolsSpec, item: claim_specs.AlternativeSpec) -> int:
    """Return how often a request of one kind can be satisfied at once."""
    if item.class_:
        return 0
    if item.all:
        return sum(_all_at_once(pools, kind, item) for kind, _ in kinds(pools, item.pool))
    sizes = [(_shares(kind, item), count) for kind, count in kinds(pools, item.pool)]
    sizes = [(size, count) for size, count in sizes if size]
    if len(sizes) == 1:
        [(size, count)] = sizes
        return count * (size // item.devices)
    return sum(size * count for size, count in sizes) // item.devices


def _all_at_once(
    pools: pool_specs.PoolsSpec,
    kind: pool_kind_specs.PoolKindSpec,
    item: claim_specs.AlternativeSpec,
) -> int:
    if not _shares(kind, item):
        return 0
    places = min(pools.nodes, kind.devices) if kind.place == "device" else pools.pool_count(kind)
    return places * _shares_of_device(kind, item)


def _shares(kind: pool_kind_specs.PoolKindSpec, item: claim_specs.AlternativeSpec) -> int:
    """Return how many devices, or shares of them, a pool can give away at once."""
    whole = sum(not _is_blocked(kind, item, index) for index in range(kind.devices))
    devices = whole * max(kind.partitions or [1])
    if kind.limit is not None:
        devices = min(devices, kind.limit)
    return min(devices * _shares_of_device(kind, item), UNLIMITED)


def _is_blocked(
    kind: pool_kind_specs.PoolKindSpec, item: claim_specs.AlternativeSpec, index: int
) -> bool:
    taints = [taint for taint in kind.taints if index % taint.every == 0]
    return any(
        taint.effect in _BLOCKING and not any(_tolerates(one, taint) for one in item.tolerations)
        for taint in taints
    )


def _tolerates(one: claim_specs.TolerationSpec, taint: pool_kind_specs.TaintSpec) -> bool:
    is_meant = one.key in ("", taint.key) and one.effect in ("", taint.effect)
    return is_meant and (one.operator == "Exists" or one.value == taint.value)


def _shares_of_device(kind: pool_kind_specs.PoolKindSpec, item: claim_specs.AlternativeSpec) -> int:
    """Return how often a device can be given away; 0 if it has not the capacity that is asked."""
    if item.capacity.keys() - kind.capacity.keys():
        return 0
    most = UNLIMITED if kind.shared else 1
    for name, whole in kind.capacity.items():
        taken = _taken(kind, item, name)
        if taken > quantities.amount(whole):
            return 0
        if kind.shared and taken > 0:
            most = min(most, int(quantities.amount(whole) // taken))
    return most


def _taken(
    kind: pool_kind_specs.PoolKindSpec, item: claim_specs.AlternativeSpec, name: str
) -> Fraction:
    policy, asked = kind.policies.get(name), item.capacity.get(name)
    if asked is None:
        return quantities.amount(policy.default if policy else kind.capacity[name])
    wanted = quantities.amount(asked)
    if policy is None:
        return wanted
    values = [quantities.amount(value) for value in policy.values]
    if values:
        return min((value for value in values if value >= wanted), default=wanted)
    if policy.least is None:
        return wanted
    return _in_range(policy, wanted, quantities.amount(policy.least))


def _in_range(policy: pool_kind_specs.PolicySpec, wanted: Fraction, least: Fraction) -> Fraction:
    if wanted <= least:
        return least
    step = quantities.amount(policy.step) if policy.step else Fraction(0)
    return least + -((least - wanted) // step) * step if step else wanted
