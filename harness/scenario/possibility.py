"""Finds demands of a scenario that no cluster or machine can meet, from its numbers alone."""

from collections.abc import Iterator

from harness.scenario import pool_specs, specs, traffic_specs


def objections(scenario: specs.Scenario) -> Iterator[str]:
    """Yield one line for each demand that can never be met."""
    claim, pools = scenario.claim, scenario.pools
    yield from of_pools(pools)
    yield from _of_users(scenario)
    yield from _of_extended(scenario)
    yield from _of_own_devices(scenario)
    if claim.devices > pools.devices_per_node:
        yield (
            f"claim.devices: expected at most pools.devices_per_node = {pools.devices_per_node}, got {claim.devices}; "
            "the devices of a claim are all on one node"
        )
    elif isinstance(scenario.traffic, traffic_specs.AllAtOnceTraffic):
        yield from _of_all_at_once(scenario, scenario.traffic)


def of_pools(pools: pool_specs.PoolsSpec) -> Iterator[str]:
    """Yield a line if the pools have more than DEVICES_MAX devices."""
    devices = pools.nodes * pools.devices_per_node
    if devices > pool_specs.DEVICES_MAX:
        yield f"pools: expected at most {pool_specs.DEVICES_MAX} devices on all nodes together, got {devices}"


def _of_users(scenario: specs.Scenario) -> Iterator[str]:
    """Check that each process has a user, because a process without one creates nothing."""
    traffic = scenario.traffic
    if traffic.users < traffic.processes:
        yield (
            f"traffic.users: expected at least traffic.processes = {traffic.processes}, got {traffic.users}; "
            "lower traffic.processes too"
        )


def _of_extended(scenario: specs.Scenario) -> Iterator[str]:
    """Check what cannot be asked for by an extended resource: a container gives a number only."""
    claim = scenario.claim
    if not claim.extended:
        return
    if claim.selectors:
        yield (
            f"claim.selectors: expected none with claim.extended, got {len(claim.selectors)}; "
            "set pools.device_class.selectors instead"
        )
    if claim.admin_access:
        yield "claim.admin_access: expected false with claim.extended, got true; remove one of them"
    if scenario.traffic.profile == "shared":
        yield (
            "traffic.profile: expected 'churn' or 'all-at-once' with claim.extended, got 'shared'; "
            "the claim of an extended resource is for one pod"
        )


def _of_own_devices(scenario: specs.Scenario) -> Iterator[str]:
    """Check that each scheduler can have devices of its own."""
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
    least = scenario.claim.devices * len(subject.schedulers)
    if pools.devices_per_node < least:
        yield (
            f"pools.devices_per_node: expected at least {least} with subject.own_devices, got {pools.devices_per_node}; "
            f"each of {len(subject.schedulers)} schedulers needs claim.devices = {scenario.claim.devices} on a node"
        )


def pods_at_once(scenario: specs.Scenario, traffic: traffic_specs.AllAtOnceTraffic) -> int:
    """Return how many of the pods can run at once; with admin access all of them can."""
    claim, pools = scenario.claim, scenario.pools
    if claim.admin_access:
        return traffic.pods
    owners = len(scenario.subject.schedulers) if scenario.subject.own_devices else 1
    claims_of_each = pools.devices_per_node // owners // claim.devices
    return min(traffic.pods, pools.nodes * owners * claims_of_each)


def _of_all_at_once(
    scenario: specs.Scenario, traffic: traffic_specs.AllAtOnceTraffic
) -> Iterator[str]:
    """Check that the pods can run at once, since none releases its devices."""
    claim, pools, load = scenario.claim, scenario.pools, scenario.load
    runnable = pods_at_once(scenario, traffic)
    if traffic.pods > runnable and not traffic.overcommit:
        yield (
            f"traffic.pods: expected at most {runnable}, got {traffic.pods}; {pools.nodes} nodes with "
            f"{pools.devices_per_node} devices each satisfy no more claims of {claim.devices}, and none is released; "
            "set traffic.overcommit = true if the other pods are to wait"
        )
    if load.pods_running_min > runnable:
        yield (
            f"load.pods_running_min: expected at most {runnable}, the pods that can run at once, got {load.pods_running_min}"
        )
    holds = runnable * claim.devices
    if load.allocations_min > holds:
        yield (
            f"load.allocations_min: expected at most {holds} (pods that can run at once times claim.devices), got {load.allocations_min}"
        )
    if load.reuse_min and not claim.admin_access:
        yield (
            f"load.reuse_min: expected 0, got {load.reuse_min}; profile 'all-at-once' never releases a device"
        )
