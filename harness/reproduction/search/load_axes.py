"""The sizes of a scenario that can be made smaller: nodes, devices, pods, users, and durations.

An axis changes one size and whatever has to follow: fewer devices need fewer pods to be scarce.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

from harness.scenario import possibility, specs, traffic_specs

PODS_LEAST, USERS_LEAST = 2, 1
"""A double allocation takes two claims; two users or one user with two pods have them."""
DURATION_LEAST_S = 1.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One size of a scenario."""

    name: str
    value: float
    """Size in the scenario; greater than `least`."""
    least: float
    is_whole: bool = True
    """True for numbers of things, False for seconds."""
    resized: Callable[[float], specs.Scenario]
    """Return the scenario with another size. Raises pydantic.ValidationError if it is invalid."""


def sized(
    name: str,
    now: float | None,
    least: float,
    replaced: Callable[[Any], specs.Scenario],
) -> Iterator[Axis]:
    """Yield the axis of a size if it can be smaller; a whole `least` means a number of things."""
    is_whole = isinstance(least, int)

    def resized(size: float) -> specs.Scenario:
        return replaced(int(size) if is_whole else size)

    if (now or 0) > least:
        yield Axis(name=name, value=now or 0, least=least, is_whole=is_whole, resized=resized)


def axes(scenario: specs.Scenario) -> Iterator[Axis]:
    """Yield the sizes that can be smaller, those with the greatest effect first."""
    for axis in _axes(scenario):
        if axis.value > axis.least:
            yield axis


def _axes(scenario: specs.Scenario) -> Iterator[Axis]:
    pools, traffic = scenario.pools, scenario.traffic
    fewest = 0 if pools.more else _fewest(scenario)
    if pools.copies > 1:
        yield Axis(
            name="copies",
            value=pools.copies,
            least=1,
            resized=functools.partial(_with_copies, scenario),
        )
    least_nodes = max(1, pools.zones, pools.imported_nodes)
    for key, least in (("nodes", least_nodes), ("devices_per_node", fewest)):
        name, now = key.replace("_", " "), getattr(pools, key)
        resized = functools.partial(_pooled, scenario, key)
        yield Axis(name=name, value=now, least=least, resized=resized)
        resized = functools.partial(_scarcer, scenario, key)
        yield Axis(name=f"{name}, same load", value=now, least=least, resized=resized)
    if hasattr(traffic, "pods"):
        yield _of_traffic(scenario, "pods", PODS_LEAST)
    yield _of_traffic(scenario, "users", USERS_LEAST)
    yield _of_traffic(scenario, "processes", 1)
    if isinstance(traffic, traffic_specs.SharedTraffic):
        yield _of_traffic(scenario, "pods_per_claim", 1)
    if isinstance(traffic, traffic_specs.ObjectsTraffic) and all(
        one.is_whole for one in traffic.sets
    ):
        yield _of_files(scenario, traffic)
    if isinstance(traffic, traffic_specs.TimedTraffic):
        yield _of_duration(scenario, traffic)


def _fewest(scenario: specs.Scenario) -> int:
    return max((kind.least_devices for kind in scenario.claim_kinds), default=1)


def _of_traffic(scenario: specs.Scenario, key: str, least: int) -> Axis:
    return Axis(
        name=key.replace("_", " "),
        value=getattr(scenario.traffic, key),
        least=least,
        resized=lambda size: changed(scenario, traffic=_updated(scenario.traffic, key, int(size))),
    )


def _of_files(scenario: specs.Scenario, traffic: traffic_specs.ObjectsTraffic) -> Axis:
    """Return the axis of the files of manifests; the last ones go first."""

    def resized(size: float) -> specs.Scenario:
        kept = traffic.sets[: int(size)]
        files = [one.file for one in kept]
        return changed(
            scenario, traffic=traffic.model_copy(update={"sets": kept, "objects": files})
        )

    return Axis(name="files", value=len(traffic.sets), least=1, resized=resized)


def _of_duration(scenario: specs.Scenario, traffic: traffic_specs.TimedTraffic) -> Axis:
    """Return the axis of the load's duration; runs that stop at a violation use the longest one."""

    def resized(size: float) -> specs.Scenario:
        shorter = {"duration_s": min(size, traffic.duration_s), "duration_max_s": size}
        return changed(scenario, traffic=traffic.model_copy(update=shorter))

    return Axis(
        name="seconds of load",
        value=max(traffic.duration_s, traffic.duration_max_s),
        least=DURATION_LEAST_S,
        is_whole=False,
        resized=resized,
    )


def _pooled(scenario: specs.Scenario, key: str, size: float) -> specs.Scenario:
    traffic, share = scenario.traffic, size / getattr(scenario.pools, key)
    if isinstance(traffic, traffic_specs.AllAtOnceTraffic):
        pods = max(PODS_LEAST, math.ceil(traffic.pods * share))
        traffic = traffic.model_copy(update={"pods": min(pods, traffic.pods)})
    else:
        users = max(PODS_LEAST, math.ceil(traffic.users * share))
        traffic = traffic.model_copy(update={"users": min(users, traffic.users)})
    return changed(scenario, pools=_updated(scenario.pools, key, int(size)), traffic=traffic)


def _with_copies(scenario: specs.Scenario, copies: float) -> specs.Scenario:
    pools = scenario.pools.model_copy(update={"copies": int(copies)})
    nodes = scenario.pools.nodes - scenario.pools.imported_nodes + pools.imported_nodes
    return changed(scenario, pools=pools.model_copy(update={"nodes": max(1, nodes)}))


def _scarcer(scenario: specs.Scenario, key: str, size: float) -> specs.Scenario:
    return changed(scenario, pools=_updated(scenario.pools, key, int(size)))


def _updated(table: Any, key: str, value: int) -> Any:
    return table.model_copy(update={key: value})


def changed(scenario: specs.Scenario, **parts: Any) -> specs.Scenario:
    """Return the scenario with other parts, validated, and with demands that it can meet.

    Raises pydantic.ValidationError if it is invalid.
    """
    draft = scenario.model_copy(update=parts)
    # A process without users would not create its part of the objects.
    processes = min(draft.traffic.processes, draft.traffic.users)
    traffic = draft.traffic.model_copy(update={"processes": processes})
    if isinstance(traffic, traffic_specs.AllAtOnceTraffic):
        changes = _satisfiable(draft, traffic)
    else:
        changes = {"traffic": traffic}
    return specs.Scenario.model_validate(draft.model_copy(update=changes).model_dump(mode="json"))


def _satisfiable(
    scenario: specs.Scenario, traffic: traffic_specs.AllAtOnceTraffic
) -> dict[str, Any]:
    runnable, load = possibility.pods_at_once(scenario, traffic), scenario.load
    held = max(1, possibility.holds_at_once(scenario, traffic))
    lower = {
        "allocations_min": min(load.allocations_min, held),
        "pods_running_min": min(load.pods_running_min, runnable),
    }
    changes = {
        "overcommit": traffic.overcommit or traffic.pods > runnable,
        "users": min(traffic.users, traffic.pods),
        "processes": min(traffic.processes, traffic.pods),
    }
    return {
        "load": load.model_copy(update=lower),
        "traffic": traffic.model_copy(update=changes),
    }
