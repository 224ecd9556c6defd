"""The sizes of a scenario as text: what is compared, and what one line says."""

from collections.abc import Iterator

from harness.checks import verdicts
from harness.reproduction.issue import markdown
from harness.scenario import script_specs, specs, traffic_specs
from harness.scenario.fault_kinds import fault


def line(scenario: specs.Scenario) -> str:
    """Return `2 claims, 1 device on 1 node, 1 user, 2 faults`."""
    pools, traffic = scenario.pools, scenario.traffic
    devices = pools.device_count
    parts = [
        f"{verdicts.counted(devices, 'device')} on {verdicts.counted(pools.nodes, 'node')}",
        verdicts.counted(traffic.users, "user"),
        verdicts.counted(len(scenario.faults), "fault"),
    ]
    if isinstance(traffic, traffic_specs.AllAtOnceTraffic):
        parts.insert(0, verdicts.counted(traffic.pods, "claim"))
    return ", ".join(parts)


def compared(original: specs.Scenario, smallest: specs.Scenario) -> Iterator[tuple[str, str, str]]:
    """Yield (name, size in the original, size in the smallest) as cells of a Markdown table."""
    before, now = dict(_sizes(original)), dict(_sizes(smallest))
    for name, size in before.items():
        yield markdown.text(name), markdown.text(size), markdown.text(now.get(name, "none"))


def _sizes(scenario: specs.Scenario) -> Iterator[tuple[str, str]]:
    pools, traffic = scenario.pools, scenario.traffic
    if isinstance(traffic, traffic_specs.AllAtOnceTraffic):
        yield "claims, each with a pod", str(traffic.pods)
    elif isinstance(traffic, traffic_specs.LimitTraffic):
        yield "pods of one claim", str(traffic.pods)
    elif isinstance(traffic, script_specs.ScriptTraffic):
        yield "steps", str(len(traffic.steps))
    else:
        yield "seconds of load at most", f"{max(traffic.duration_s, traffic.duration_max_s):g}"
    yield "nodes", str(pools.nodes)
    yield "devices on each node", str(pools.devices_per_node)
    for kind in pools.more:
        yield f"devices of pools {kind.name}", str(kind.devices)
    for index, change in enumerate(pools.changes, start=1):
        yield f"pool change {index} ({change.kind})", verdicts.counted(change.times, "time")
    yield "users", str(traffic.users)
    for name, item in scenario.named_faults:
        yield f"fault {name}", _fault(item)


def _fault(item: fault.Fault) -> str:
    """Return how often and how long: `10 times, 0.5 s`."""
    times, seconds = getattr(item, "times", None), getattr(item, "seconds", None)
    often = verdicts.counted(times, "time") if times else "on"
    return f"{often}, {seconds:g} s" if seconds else often
