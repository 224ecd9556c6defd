"""The names that objects of a run can have, as far as they are known when it is planned."""

import fnmatch
from collections.abc import Sequence

from harness.model import naming
from harness.scenario import pool_specs, specs, traffic_specs
from harness.traffic import launching, objects

ANY = "*"
"""Stands for any text at the end of a shape."""


def shapes(resource: str, scenario: specs.Scenario) -> list[str]:
    """Return the names of a resource's objects, or prefixes of them that end with ANY.

    Empty if nothing is known about them.
    """
    match resource, scenario.traffic:
        case "nodes", _:
            return _nodes(scenario.pools)
        case "resourceslices", _:
            return _slices(scenario.pools)
        case "deviceclasses", _:
            kinds = ["", *(kind.name for kind in scenario.pools.more)]
            return [scenario.pools.class_of(kind) for kind in kinds]
        case "resourceclaims", traffic_specs.AllAtOnceTraffic() as traffic:
            return [f"claim-{number:04d}" for number in range(traffic.pods)]
        case "pods", traffic_specs.AllAtOnceTraffic() as traffic:
            return [f"pod-{number:04d}" for number in range(traffic.pods)]
        case "resourceclaims", traffic_specs.LimitTraffic():
            return [objects.SHARED_CLAIM]
        case "pods", traffic_specs.LimitTraffic() as traffic:
            return [f"pod-{number:04d}" for number in range(traffic.pods)]
        case "pods" | "resourceclaims", traffic:
            return [f"{name}{ANY}" for name in launching.process_names(traffic)]
    return []


def can_match(pattern: str, shape: str) -> bool:
    """Return whether a shell pattern can match a name of this shape."""
    if not shape.endswith(ANY):
        return fnmatch.fnmatchcase(shape, pattern)
    prefix, literal = shape.removesuffix(ANY), _literal_start(pattern)
    if literal == pattern:
        return pattern.startswith(prefix)
    return literal.startswith(prefix) or prefix.startswith(literal)


def example(found: Sequence[str]) -> str:
    """Return a shape as an example for messages."""
    return repr(found[0])


def _nodes(pools: pool_specs.PoolsSpec) -> list[str]:
    return [naming.node(number, prefix=pools.node_prefix) for number in range(pools.nodes)]


def _slices(pools: pool_specs.PoolsSpec) -> list[str]:
    names = _nodes(pools)
    names += [f"{pools.node_prefix}{kind.name}" for kind in pools.more if kind.is_of_cluster]
    return [f"{name}{ANY}" for name in names]


def _literal_start(pattern: str) -> str:
    """Return the part of a shell pattern before its first special character."""
    ends = [pattern.index(mark) for mark in "*?[" if mark in pattern]
    return pattern[: min(ends, default=len(pattern))]
