"""The sizes of a scenario as text: what is compared, and what one line says."""

from harness.checks import verdicts
from harness.reproduction.issue import markdown
from harness.reproduction.search import smaller_scenarios
from harness.scenario import specs, traffic_specs


def line(scenario: specs.Scenario) -> str:
    """Return `2 claims, 1 device on 1 node, 1 user, 2 faults`."""
    pools, traffic = scenario.pools, scenario.traffic
    devices = verdicts.counted(pools.device_count, "device")
    parts = [
        f"{devices} on {verdicts.counted(pools.nodes, 'node')}",
        verdicts.counted(traffic.users, "user"),
        verdicts.counted(len(scenario.faults), "fault"),
    ]
    if isinstance(traffic, traffic_specs.AllAtOnceTraffic):
        parts.insert(0, verdicts.counted(traffic.pods, "claim"))
    return ", ".join(parts)


def compared(original: specs.Scenario, smallest: specs.Scenario) -> list[list[str]]:
    """Return name, size in the original and in the smallest, as cells of a Markdown table."""
    before, now = _sizes(original), _sizes(smallest)
    rows = ((name, size, now.get(name, "none")) for name, size in before.items())
    return [[*map(markdown.text, row)] for row in rows]


def _sizes(scenario: specs.Scenario) -> dict[str, str]:
    axes = [*smaller_scenarios.axes(scenario), *smaller_scenarios.part_axes(scenario)]
    sizes = {axis.name: f"{axis.value:g}" for axis in axes if "same load" not in axis.name}
    return sizes | {"faults": ", ".join(name for name, _ in scenario.named_faults) or "none"}
