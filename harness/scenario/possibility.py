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
    for check in (_of_traffic, _of_extended, _of_own_devices, _of_drivers, _of_objects):
        yield from check(scenario)
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
    kinds = [scenario.claim_kind(number) for number in range(traffic.pods)]
    pools, owners = scenario.pools, len(scenario.subject.schedulers)
    if scenario.subject.own_devices:  # as if each scheduler had nodes of its own
        own = pools.devices_per_node // owners
        pools = pools.model_copy(update={"nodes": pools.nodes * owners, "devices_per_node": own})
    return sum(
        min(kinds.count(index), device_supply.claims_at_once(pools, claim))
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
    """Return how many devices and shares the claims can hold at once, at most."""
    most = max(claim.most_devices for claim in scenario.claim_kinds)
    return pods_at_once(scenario, traffic) * most


# ---------------------------------------------------------------------- contradictions


def _of_traffic(scenario: specs.Scenario) -> Iterator[str]:
    """Check that each process has a user, and that the traffic is as long as the changes."""
    traffic = scenario.traffic
    if traffic.users < traffic.processes:
        yield (
            f"traffic.users: expected at least traffic.processes = {traffic.processes}, got "
            f"{traffic.users}; lower traffic.processes too"
        )
    if not isinstance(traffic, traffic_specs.TimedTraffic):
        return
    for number, change in enumerate(scenario.pools.changes):
        if change.end_s > traffic.duration_s:
            yield (
                f"pools.changes.{number}: expected its last time to be over within "
                f"traffic.duration_s = {traffic.duration_s:g} s of the first pod, got "
                f"{change.end_s:g} s (start_s + every_s * (times - 1) + lasts_s)"
            )


def _of_extended(scenario: specs.Scenario) -> Iterator[str]:
    """Check what cannot be asked for by an extended resource: a container gives a number only."""
    claim, profile = scenario.claim, scenario.traffic.profile
    if any(kind.extended for kind in scenario.claims):
        yield "claims: expected kinds without extended, got some; use [claim] for them"
    if not claim.extended:
        return
    for key in ("class", "constraints", "selectors", "parameters", "admin_access"):
        if value := getattr(claim, "class_" if key == "class" else key):
            yield (
                f"claim.{key}: expected none with claim.extended, got {value!r}; only "
                "pools.device_class can say more about the devices"
            )
    if profile not in _OF_ONE_POD:
        yield (
            f"traffic.profile: expected one of {', '.join(_OF_ONE_POD)} with claim.extended, got "
            f"{profile!r}; the claim of an extended resource is for one pod"
        )


def _of_own_devices(scenario: specs.Scenario) -> Iterator[str]:
    """Check that the claims of a scheduler can select its devices, and that it has enough."""
    subject, pools, claim = scenario.subject, scenario.pools, scenario.claim
    if not subject.own_devices:
        return
    given = [item.scheduler_name for item in subject.schedulers if item.scheduler_name]
    if len({*given}) < len(given) or subject.leader_election:
        yield (
            "subject.own_devices: expected schedulers with different names, got equal ones; "
            "remove scheduler_name and leader_election"
        )
    are_plain = pools.is_plain and claim.is_plain and not (scenario.claims or claim.extended)
    if not are_plain or scenario.traffic.profile in ("limit", "objects"):
        yield (
            "subject.own_devices: expected false with claim.extended, profile 'limit' or "
            "'objects', or further kinds of pools or claims, got true; such claims cannot select "
            "the devices of one scheduler"
        )
    if pools.devices_per_node < (least := claim.devices * len(subject.schedulers)):
        yield (
            f"pools.devices_per_node: expected at least {least} with subject.own_devices, got "
            f"{pools.devices_per_node}; each scheduler needs claim.devices on a node"
        )


def _of_drivers(scenario: specs.Scenario) -> Iterator[str]:
    """Check that there is a driver that reports or publishes, and nothing else to publish."""
    pools, subject = scenario.pools, scenario.subject
    if scenario.driver.device_status and subject.driver != "socket":
        yield (
            f"driver.device_status: expected false with subject.driver {subject.driver!r}, got "
            "true; set subject.driver to 'socket'"
        )
    if pools.published_by == "run":
        return
    if subject.driver in ("in-process", "socket"):
        yield (
            "pools.published_by: expected 'run' without a driver of your own, got 'driver'; set "
            "subject.driver to 'command=…' or 'socket:…'"
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


# ------------------------------------------------------------------------------ claims


def _of_claims(scenario: specs.Scenario) -> Iterator[str]:
    pools = scenario.pools
    for index, claim in enumerate(scenario.claim_kinds):
        where = f"claims.{index}" if scenario.claims else "claim"
        if claim.is_plain and pools.is_plain and claim.devices > pools.devices_per_node:
            yield (
                f"{where}.devices: expected at most pools.devices_per_node = "
                f"{pools.devices_per_node}, got {claim.devices}; the devices of a claim are all on "
                "one node"
            )
            continue
        for number, request in enumerate(claim.asked):
            yield from _of_request(f"{where}.requests.{number}", request, pools)
        yield from _of_constraints(where, claim, pools)


def _of_request(
    where: str, request: claim_specs.RequestSpec, pools: pool_specs.PoolsSpec
) -> Iterator[str]:
    classes = pools.imported.classes if pools.imported else {}
    kinds = [kind.name for kind in pools.more]
    for item in request.alternatives:
        if item.class_ not in ("", *classes):
            near = suggestions.did_you_mean(item.class_, classes)
            known = ", ".join(classes) or "none"
            yield f"{where}.class: expected a DeviceClass of pools.from ({known}), got {item.class_!r}{near}"
            return
        if item.pool not in ("", *kinds):
            known = ", ".join(kinds) or "none"
            yield f"{where}.pool: expected the name of a kind of pools ({known}), got {item.pool!r}"
            return
    if not device_supply.requests_at_once(pools, request):
        yield (
            f"{where}: expected a request that a pool can satisfy, but none has so many devices "
            "with so much capacity: change the request or the pools"
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


def _of_all_at_once(
    scenario: specs.Scenario, traffic: traffic_specs.AllAtOnceTraffic
) -> Iterator[str]:
    """Check that the pods can run at once, since none releases its devices."""
    load, runnable = scenario.load, pods_at_once(scenario, traffic)
    if traffic.pods > runnable and not traffic.overcommit:
        yield (
            f"traffic.pods: expected at most {runnable}, got {traffic.pods}; the pools satisfy no "
            "more claims, and none is released; set traffic.overcommit = true if the other pods "
            "are to wait"
        )
    if load.pods_running_min > runnable:
        yield (
            f"load.pods_running_min: expected at most {runnable}, the pods that can run at once, "
            f"got {load.pods_running_min}"
        )
    holds = holds_at_once(scenario, traffic)
    if load.allocations_min > holds:
        yield (
            f"load.allocations_min: expected at most {holds} (pods that can run at once times the "
            f"devices of a claim), got {load.allocations_min}"
        )
    shares = scenario.pools.has("shares") or any(
        one.has_admin_access for one in scenario.claim_kinds
    )
    if load.reuse_min and not shares:
        yield (
            f"load.reuse_min: expected 0, got {load.reuse_min}; profile 'all-at-once' never "
            "releases a device"
        )
