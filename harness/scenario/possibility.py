"""Finds demands of a scenario that no cluster or machine can meet, from its numbers alone."""

from collections.abc import Iterator

from harness import suggestions
from harness.scenario import (
    claim_specs,
    device_supply,
    pool_specs,
    script_specs,
    specs,
    traffic_specs,
)
from harness.scenario.object_sets import objections as objections_of_objects

_OF_ONE_POD = ("all-at-once", "churn", script_specs.JOURNAL)
"""Profiles of traffic with a claim for each pod."""


def objections(scenario: specs.Scenario) -> Iterator[str]:
    """Yield one line for each demand that can never be met."""
    yield from of_pools(scenario.pools)
    yield from _of_users(scenario)
    yield from _of_changes(scenario)
    yield from _of_extended(scenario)
    yield from _of_own_devices(scenario)
    yield from _of_reporting_drivers(scenario)
    yield from _of_publishing_drivers(scenario)
    yield from _of_objects(scenario)
    found = list(_of_claims(scenario))
    yield from found
    if not found and isinstance(scenario.traffic, traffic_specs.AllAtOnceTraffic):
        yield from _of_all_at_once(scenario, scenario.traffic)


def of_pools(pools: pool_specs.PoolsSpec) -> Iterator[str]:
    """Yield a line if the pools have more than DEVICES_MAX devices."""
    if pools.device_count > pool_specs.DEVICES_MAX:
        yield (
            f"pools: expected at most {pool_specs.DEVICES_MAX} devices on all nodes together, "
            f"got {pools.device_count}"
        )


def pods_at_once(scenario: specs.Scenario, traffic: traffic_specs.AllAtOnceTraffic) -> int:
    """Return how many of the pods can run at once, at most; with admin access all of them can."""
    if scenario.claims:
        numbers = [scenario.claim_kind(number) for number in range(traffic.pods)]
        counts = [numbers.count(index) for index in range(len(scenario.claims))]
    else:
        counts = [traffic.pods]
    pools = _divided(scenario)
    return sum(
        min(count, device_supply.claims_at_once(pools, claim))
        for count, claim in zip(counts, scenario.claim_kinds, strict=True)
    )


def _divided(scenario: specs.Scenario) -> pool_specs.PoolsSpec:
    """Return the pools, with a node for the own devices of each scheduler."""
    pools, owners = scenario.pools, len(scenario.subject.schedulers)
    if not scenario.subject.own_devices:
        return pools
    of_each = {"nodes": pools.nodes * owners, "devices_per_node": pools.devices_per_node // owners}
    return pools.model_copy(update=of_each)


def pods_to_run(scenario: specs.Scenario, traffic: traffic_specs.AllAtOnceTraffic) -> int:
    """Return how many pods must run in the end.

    Where more pods than that are allowed and only trying shows how many can run, those that `load`
    asks for.
    """
    is_known = not scenario.claims and device_supply.is_exact(scenario.pools, scenario.claim)
    if traffic.overcommit and not is_known:
        return scenario.load.pods_running_min
    return pods_at_once(scenario, traffic)


def holds_at_once(scenario: specs.Scenario, traffic: traffic_specs.AllAtOnceTraffic) -> int:
    """Return how many devices and shares the claims can hold at once, at most."""
    most = max(claim.most_devices for claim in scenario.claim_kinds)
    return pods_at_once(scenario, traffic) * most


def _of_changes(scenario: specs.Scenario) -> Iterator[str]:
    """Check that the traffic goes on for as long as the pools change."""
    traffic = scenario.traffic
    if not isinstance(traffic, traffic_specs.TimedTraffic):
        return
    for number, change in enumerate(scenario.pools.changes):
        if change.end_s > traffic.duration_s:
            yield (
                f"pools.changes.{number}: expected its last time to be over within traffic.duration_s = "
                f"{traffic.duration_s:g} s of the first pod, got {change.end_s:g} s (start_s + every_s * (times - 1) + lasts_s); "
                "make the traffic longer, or the change shorter"
            )


def _of_users(scenario: specs.Scenario) -> Iterator[str]:
    """Check that each process has a user, because a process without one creates nothing."""
    traffic = scenario.traffic
    if isinstance(traffic, script_specs.ScriptTraffic):
        return
    if traffic.users < traffic.processes:
        yield (
            f"traffic.users: expected at least traffic.processes = {traffic.processes}, got {traffic.users}; "
            "lower traffic.processes too"
        )


def _of_extended(scenario: specs.Scenario) -> Iterator[str]:
    """Check what cannot be asked for by an extended resource: a container gives a number only."""
    claim, profile = scenario.claim, scenario.traffic.profile
    if any(kind.extended for kind in scenario.claims):
        yield "claims: expected kinds without extended, got some; use [claim] for them"
    if not claim.extended:
        return
    if claim.class_:
        yield f"claim.class: expected none with claim.extended, got {claim.class_!r}; remove one"
    for key in ("constraints", "selectors", "parameters"):
        if count := len(getattr(claim, key)):
            yield (
                f"claim.{key}: expected none with claim.extended, got {count}; "
                "only pools.device_class can say more about the devices"
            )
    if claim.admin_access:
        yield "claim.admin_access: expected false with claim.extended, got true; remove one of them"
    if profile not in _OF_ONE_POD:
        yield (
            f"traffic.profile: expected one of {', '.join(_OF_ONE_POD)} with claim.extended, got "
            f"{profile!r}; the claim of an extended resource is for one pod"
        )


def _of_own_devices(scenario: specs.Scenario) -> Iterator[str]:
    subject, pools = scenario.subject, scenario.pools
    if not subject.own_devices:
        return
    given = [item.scheduler_name for item in subject.schedulers if item.scheduler_name]
    if len(set(given)) < len(given) or subject.leader_election:
        yield (
            "subject.own_devices: expected schedulers with different names, got equal ones; "
            "remove scheduler_name and leader_election"
        )
    if scenario.claim.extended or scenario.traffic.profile == "limit":
        yield (
            "subject.own_devices: expected false with claim.extended or profile 'limit', got true; "
            "their pods cannot select the devices of one scheduler"
        )
    if not pools.is_plain or scenario.claims or not scenario.claim.is_plain:
        yield (
            "subject.own_devices: expected false with further kinds of pools or claims, got true; "
            "remove one of them"
        )
    least = scenario.claim.devices * len(subject.schedulers)
    if pools.devices_per_node < least:
        yield (
            f"pools.devices_per_node: expected at least {least} with subject.own_devices, got {pools.devices_per_node}; "
            f"each of {len(subject.schedulers)} schedulers needs claim.devices = {scenario.claim.devices} on a node"
        )


def _of_reporting_drivers(scenario: specs.Scenario) -> Iterator[str]:
    if scenario.driver.device_status and scenario.subject.driver != "socket":
        yield (
            f"driver.device_status: expected false with subject.driver {scenario.subject.driver!r}, "
            "got true; set subject.driver to 'socket'"
        )


def _of_publishing_drivers(scenario: specs.Scenario) -> Iterator[str]:
    """Check that there is a driver that publishes, and that nothing else has to be published."""
    pools, subject = scenario.pools, scenario.subject
    if pools.published_by == "run":
        return
    if subject.driver in ("in-process", "socket"):
        yield (
            "pools.published_by: expected 'run' without a driver of your own, got 'driver'; "
            "set subject.driver to 'command=…' or 'socket:…'"
        )
    if pools.more or pools.changes or subject.own_devices:
        yield (
            "pools.published_by: expected 'run' with pools.more, pools.changes or "
            "subject.own_devices, got 'driver'; remove one of them"
        )


def _of_objects(scenario: specs.Scenario) -> Iterator[str]:
    pools = scenario.pools
    yield from objections_of_objects.of_sets(
        scenario.object_sets,
        classes=pools.class_names,
        resources={*pools.extended_resources, *getattr(pools.imported, "resources", ())},
        templates=pools.imported.templates if pools.imported else (),
    )
    if scenario.object_sets and scenario.subject.own_devices:
        yield (
            "subject.own_devices: expected false with traffic.profile = 'objects', got true; the "
            "claims of the files cannot select the devices of one scheduler"
        )


# ------------------------------------------------------------------------------ claims


def _of_claims(scenario: specs.Scenario) -> Iterator[str]:
    for index, claim in enumerate(scenario.claim_kinds):
        where = f"claims.{index}" if scenario.claims else "claim"
        if claim.is_plain and scenario.pools.is_plain:
            yield from _of_plain_claim(where, claim, scenario.pools)
            continue
        for number, request in enumerate(claim.asked):
            yield from _of_request(f"{where}.requests.{number}", request, scenario.pools)
        yield from _of_constraints(where, claim, scenario.pools)


def _of_plain_claim(
    where: str, claim: claim_specs.ClaimSpec, pools: pool_specs.PoolsSpec
) -> Iterator[str]:
    if claim.devices > pools.devices_per_node:
        yield (
            f"{where}.devices: expected at most pools.devices_per_node = {pools.devices_per_node}, got {claim.devices}; "
            "the devices of a claim are all on one node"
        )


def _of_request(
    where: str, request: claim_specs.RequestSpec, pools: pool_specs.PoolsSpec
) -> Iterator[str]:
    classes = pools.imported.classes if pools.imported else {}
    missing = [item.class_ for item in request.alternatives if item.class_ not in ("", *classes)]
    if missing:
        names = ", ".join(classes) or "none"
        near = suggestions.did_you_mean(missing[0], classes)
        yield f"{where}.class: expected a DeviceClass of pools.from ({names}), got {missing[0]!r}{near}"
        return
    known = [kind.name for kind in pools.more]
    unknown = [item.pool for item in request.alternatives if item.pool not in ("", *known)]
    if unknown:
        names = ", ".join(known) or "none"
        yield f"{where}.pool: expected the name of a kind of pools ({names}), got {unknown[0]!r}"
    elif not device_supply.requests_at_once(pools, request):
        yield (
            f"{where}: expected a request that a pool can satisfy, but none has so many devices "
            "that are not tainted with so much capacity: change the request or the pools"
        )


def _of_constraints(
    where: str, claim: claim_specs.ClaimSpec, pools: pool_specs.PoolsSpec
) -> Iterator[str]:
    """Check that some device has the attributes of the constraints."""
    known = {"index", *pools.attributes} if pools.devices_per_node else set()
    known |= set(pools.imported.attributes if pools.imported else ())
    for kind in pools.more:
        known |= {"index", "kind", *kind.attributes, *kind.attributes_in_turn}
        known |= {"parts"} if kind.partitions else set()
    for number, item in enumerate(claim.constraints):
        name = item.match_attribute or item.distinct_attribute
        if name.removeprefix(f"{pools.driver}/") not in known:
            yield (
                f"{where}.constraints.{number}: expected an attribute of the devices "
                f"({', '.join(sorted(known))}), got {name!r}"
            )


# ------------------------------------------------------------------------- all at once


def _of_all_at_once(
    scenario: specs.Scenario, traffic: traffic_specs.AllAtOnceTraffic
) -> Iterator[str]:
    """Check that the pods can run at once, since none releases its devices."""
    load, runnable = scenario.load, pods_at_once(scenario, traffic)
    if traffic.pods > runnable and not traffic.overcommit:
        yield (
            f"traffic.pods: expected at most {runnable}, got {traffic.pods}; {_supply(scenario)}, "
            "and none is released; set traffic.overcommit = true if the other pods are to wait"
        )
    if load.pods_running_min > runnable:
        yield (
            f"load.pods_running_min: expected at most {runnable}, the pods that can run at once, got {load.pods_running_min}"
        )
    holds = holds_at_once(scenario, traffic)
    if load.allocations_min > holds:
        yield (
            f"load.allocations_min: expected at most {holds} (pods that can run at once times the devices of a claim), "
            f"got {load.allocations_min}"
        )
    if load.reuse_min and not any(claim.has_admin_access for claim in scenario.claim_kinds):
        yield from _of_reuse(scenario)


def _of_reuse(scenario: specs.Scenario) -> Iterator[str]:
    if not scenario.pools.has("shares"):
        yield (
            f"load.reuse_min: expected 0, got {scenario.load.reuse_min}; profile 'all-at-once' never releases a device"
        )


def _supply(scenario: specs.Scenario) -> str:
    pools = scenario.pools
    if not pools.is_plain or scenario.claims or not scenario.claim.is_plain:
        return "the pools satisfy no more claims"
    return (
        f"{pools.nodes} nodes with {pools.devices_per_node} devices each satisfy no more claims of "
        f"{scenario.claim.devices}"
    )
