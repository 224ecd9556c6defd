"""Finds demands of a scenario that nothing can meet, from its numbers alone.

How many claims can have devices is an upper bound: selectors, constraints, taints and steps of
capacities may let fewer have some. It is exact for claims of a number of devices that are all
alike. Mistakes that the API server refuses, or that a run shows, are not looked for.
"""

from collections.abc import Iterable, Iterator

from harness import suggestions
from harness.model import quantities
from harness.scenario import (
    claim_specs,
    pool_kind_specs,
    pool_specs,
    script_specs,
    specs,
    traffic_specs,
)
from harness.scenario.fields import COUNT_MAX
from harness.scenario.object_sets import objections as objections_of_objects

_OF_ONE_POD = ("all-at-once", "churn", script_specs.JOURNAL)
"""Profiles of traffic with a claim for each pod."""
UNLIMITED = COUNT_MAX
"""The most that can be asked for."""


def objections(scenario: specs.Scenario) -> Iterator[str]:
    pools = scenario.pools
    yield from of_pools(pools)
    yield from _demands(scenario)
    yield from objections_of_objects.of_sets(
        scenario.object_sets,
        classes=pools.class_names,
        resources={*pools.extended_resources, *getattr(pools.imported, "resources", ())},
        templates=pools.imported.templates if pools.imported else (),
    )
    unmet = list(_of_claims(scenario))
    yield from unmet
    traffic = scenario.traffic
    if unmet or not isinstance(traffic, traffic_specs.AllAtOnceTraffic) or traffic.overcommit:
        return
    if traffic.pods > (most := pods_at_once(scenario, traffic)):
        yield (
            f"traffic.pods: expected at most {most}, got {traffic.pods}; the pools satisfy no more "
            "claims at once, and none is released (traffic.overcommit = true lets other pods wait)"
        )


def of_pools(pools: pool_specs.PoolsSpec) -> Iterator[str]:
    if pools.device_count > pool_specs.DEVICES_MAX:
        yield (
            f"pools: expected at most {pool_specs.DEVICES_MAX} devices on all nodes together, "
            f"got {pools.device_count}"
        )


def _demands(scenario: specs.Scenario) -> Iterator[str]:
    """Yield what keys demand of each other and have not.

    Without these, a run would pass over one of the keys without a word.
    """
    pools, subject, claim = scenario.pools, scenario.subject, scenario.claim
    profile, schedulers = scenario.traffic.profile, subject.schedulers
    more = (claim.class_, claim.constraints, claim.selectors, claim.parameters, claim.admin_access)
    is_simple = profile in _OF_ONE_POD and not any(more) and not scenario.claims
    if any(kind.extended for kind in (claim, *scenario.claims)) and not is_simple:
        yield (
            f"claim.extended: expected one of {', '.join(_OF_ONE_POD)} as traffic.profile, no "
            f"further keys of claim but devices, and no [[claims]], got profile {profile!r} or such "
            "keys: only pools.device_class can say more about the devices of an extended resource"
        )
    names = [item.scheduler_name for item in schedulers if item.scheduler_name]
    least = claim.devices * len(schedulers)
    are_plain = pools.is_plain and claim.is_plain and not (scenario.claims or claim.extended)
    has_own = are_plain and profile not in ("limit", "objects") and pools.devices_per_node >= least
    are_named = len({*names}) == len(names) and not subject.leader_election
    if subject.own_devices and not (has_own and are_named):
        yield (
            "subject.own_devices: expected schedulers with different names, one kind of pools and "
            f"claims, not profile {profile!r}, and at least {least} pools.devices_per_node, or "
            "false, got true: each scheduler needs devices on a node that its claims can select"
        )
    if scenario.driver.device_status and subject.driver != "socket":
        yield (
            "driver.device_status: expected false with subject.driver "
            f"{subject.driver!r}, got true; set subject.driver to 'socket'"
        )
    is_theirs = subject.driver not in ("in-process", "socket")
    if pools.published_by == "driver" and (
        not is_theirs or pools.more or pools.changes or subject.own_devices
    ):
        yield (
            "pools.published_by: expected 'run' without a driver of your own (subject.driver "
            "'command=…'), and with pools.more, pools.changes or subject.own_devices, got 'driver'"
        )


def _of_claims(scenario: specs.Scenario) -> Iterator[str]:
    pools = scenario.pools
    classes = pools.imported.classes if pools.imported else {}
    kinds = [kind.name for kind in pools.more]
    for index, claim in enumerate(scenario.claim_kinds):
        for number, request in enumerate(claim.asked):
            where = f"claims.{index}" if scenario.claims else "claim"
            where += f".requests.{number}" if claim.requests else ""
            for item in request.alternatives:
                yield from _unknown(f"{where}.class", item.class_, classes)
                yield from _unknown(f"{where}.pool", item.pool, kinds)
            if not requests_at_once(pools, request):
                yield (
                    f"{where}: expected a request that a pool can satisfy, but none has so many "
                    "devices with so much capacity: change the request or the pools"
                )


def _unknown(where: str, name: str, known: Iterable[str]) -> Iterator[str]:
    if name not in ("", *known):
        near = suggestions.did_you_mean(name, known)
        yield f"{where}: expected one of {', '.join(known) or 'none'}, got {name!r}.{near}"


# -------------------------------------------------------------------------------- supply


def pods_at_once(scenario: specs.Scenario, traffic: traffic_specs.AllAtOnceTraffic) -> int:
    """Return how many of the pods can run at once, at most; with admin access all of them can."""
    kinds = [scenario.claim_kind(number) for number in range(traffic.pods)]
    pools, owners = scenario.pools, len(scenario.subject.schedulers)
    if scenario.subject.own_devices:  # as if each scheduler had nodes of its own
        own = pools.devices_per_node // owners
        pools = pools.model_copy(update={"nodes": pools.nodes * owners, "devices_per_node": own})
    return sum(
        min(kinds.count(index), claims_at_once(pools, claim))
        for index, claim in enumerate(scenario.claim_kinds)
    )


def pods_to_run(scenario: specs.Scenario, traffic: traffic_specs.AllAtOnceTraffic) -> int:
    """Return how many pods must run in the end.

    Where more pods than that are allowed and only trying shows how many can run, those that `load`
    asks for.
    """
    are_plain = scenario.claim.is_plain and scenario.pools.is_plain and not scenario.claims
    if traffic.overcommit and not are_plain:
        return scenario.load.pods_running_min
    return pods_at_once(scenario, traffic)


def holds_at_once(scenario: specs.Scenario, traffic: traffic_specs.AllAtOnceTraffic) -> int:
    most = max(claim.most_devices for claim in scenario.claim_kinds)
    return pods_at_once(scenario, traffic) * most


def claims_at_once(pools: pool_specs.PoolsSpec, claim: claim_specs.ClaimSpec) -> int:
    return min(requests_at_once(pools, request) for request in claim.asked)


def requests_at_once(pools: pool_specs.PoolsSpec, request: claim_specs.RequestSpec) -> int:
    found = sum(_at_once(pools, item) for item in request.alternatives)
    return UNLIMITED if request.admin_access and found else min(found, UNLIMITED)


def _at_once(pools: pool_specs.PoolsSpec, item: claim_specs.AlternativeSpec) -> int:
    """Return how often devices can satisfy a request; all of those described are one at least."""
    of_files = 0
    if pools.is_of_files(item.class_, item.pool) and pools.imported_devices:
        of_files = pools.imported_devices // item.devices
        of_files = UNLIMITED if pools.has("shares") else of_files
    if item.class_:
        return of_files
    sizes = [(_shares(kind, item), count) for kind, count in _kinds(pools, item.pool)]
    sizes = [(size, count) for size, count in sizes if size]
    if len(sizes) == 1:
        [(size, count)] = sizes
        return of_files + count * (size // item.devices)
    return of_files + sum(size * count for size, count in sizes) // item.devices


def _kinds(
    pools: pool_specs.PoolsSpec, name: str
) -> Iterator[tuple[pool_kind_specs.PoolKindSpec, int]]:
    if pools.devices_per_node and not name:
        of_nodes = pool_kind_specs.PoolKindSpec.model_construct(
            name="", devices=pools.devices_per_node, capacity=pools.capacity
        )
        yield of_nodes, pools.nodes
    for kind in pools.more:
        if name in ("", kind.name):
            yield kind, pools.pool_count(kind)


def _shares(kind: pool_kind_specs.PoolKindSpec, item: claim_specs.AlternativeSpec) -> int:
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
