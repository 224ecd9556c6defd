"""Finds demands of a scenario that no cluster or machine can meet, from its numbers alone."""

from collections.abc import Iterator

from harness.scenario import specs


def objections(scenario: specs.Scenario) -> Iterator[str]:
    """Yield one line for each demand that can never be met."""
    claim, pools = scenario.claim, scenario.pools
    yield from of_pools(pools)
    if claim.devices > pools.devices_per_node:
        yield (
            f"claim.devices: expected at most pools.devices_per_node = {pools.devices_per_node}, got {claim.devices}; "
            "the devices of a claim are all on one node"
        )
    elif isinstance(scenario.traffic, specs.AllAtOnceTraffic):
        yield from _of_all_at_once(scenario, scenario.traffic)


def of_pools(pools: specs.PoolsSpec) -> Iterator[str]:
    """Yield a line if the pools have more than DEVICES_MAX devices."""
    devices = pools.nodes * pools.devices_per_node
    if devices > specs.DEVICES_MAX:
        yield f"pools: expected at most {specs.DEVICES_MAX} devices on all nodes together, got {devices}"


def _of_all_at_once(scenario: specs.Scenario, traffic: specs.AllAtOnceTraffic) -> Iterator[str]:
    """Check that all pods can run at once, since none releases its devices."""
    claim, pools, load = scenario.claim, scenario.pools, scenario.load
    claims_max = pools.nodes * (pools.devices_per_node // claim.devices)
    if traffic.pods > claims_max and not claim.admin_access:
        yield (
            f"traffic.pods: expected at most {claims_max}, got {traffic.pods}; {pools.nodes} nodes with "
            f"{pools.devices_per_node} devices each satisfy no more claims of {claim.devices}, and none is released"
        )
    if load.pods_running_min > traffic.pods:
        yield (
            f"load.pods_running_min: expected at most traffic.pods = {traffic.pods}, got {load.pods_running_min}"
        )
    holds = traffic.pods * claim.devices
    if load.allocations_min > holds:
        yield (
            f"load.allocations_min: expected at most {holds} (traffic.pods times claim.devices), got {load.allocations_min}"
        )
    if load.reuse_min and not claim.admin_access:
        yield (
            f"load.reuse_min: expected 0, got {load.reuse_min}; profile 'all-at-once' never releases a device"
        )
