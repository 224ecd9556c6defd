"""Smaller scenarios: with a smaller size, without a part, without a condition of a fault.

A change takes with it whatever has to follow: fewer devices need fewer pods to be scarce.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pydantic

from harness.scenario import possibility, specs, traffic_specs

PODS_LEAST = 2
"""A double allocation takes two claims; two users or one user with two pods have them."""
_DURATION_LEAST_S, _SECONDS_LEAST = 1.0, 0.05
_Sizes = Mapping[str, float]
"""Key of a size -> its least value: a float for seconds, an int for a number of things."""
_OF_TRAFFIC: _Sizes = {"pods": PODS_LEAST, "users": 1, "processes": 1, "pods_per_claim": 1}
_OF_POOLS: _Sizes = {"devices": 1, "slices": 1}
_OF_CHANGES: _Sizes = {
    "times": 1,
    **_OF_POOLS,
    "start_s": _SECONDS_LEAST,
    "lasts_s": _SECONDS_LEAST,
}
"""A time between two changes is no size: less of it is more."""
_OF_FAULTS: _Sizes = {"times": 1} | dict.fromkeys(
    ("seconds", "down_s", "overlap_s", "interval_s"), _SECONDS_LEAST
)
_PLAIN: Mapping[str, Any] = {"skip": 0, "every": 1, "probability": 1.0, "start_s": 0.0}
"""Keys of a fault's conditions, each with the value of a fault that has none."""


@dataclasses.dataclass(frozen=True, slots=True)
class Axis:
    """One size of a scenario, which may be the least already."""

    name: str
    value: float
    least: float
    resized: Callable[[Any], specs.Scenario]
    """Return the scenario with another size. Raises pydantic.ValidationError if it is invalid."""

    @property
    def is_whole(self) -> bool:
        """True for numbers of things, False for seconds."""
        return isinstance(self.least, int)

    def to(self, size: float) -> specs.Scenario | None:
        """Return the scenario with another size; None if it would be invalid or impossible.

        So it is if claims request devices of a kind that goes, or another fault begins after it.
        """
        try:
            candidate = self.resized(size)
        except pydantic.ValidationError:
            return None
        return None if any(possibility.objections(candidate)) else candidate


@dataclasses.dataclass(frozen=True, slots=True)
class _Part:
    """A table of a list, as a fault."""

    name: str
    table: Any
    sizes: _Sizes
    replaced: Callable[[list[Any]], specs.Scenario]
    """Return the scenario with other tables in the place of this one."""

    def updated(self, key: str, value: Any) -> specs.Scenario:
        return self.replaced([self.table.model_copy(update={key: value})])


def axes(scenario: specs.Scenario) -> Iterator[Axis]:
    """Yield the sizes of pools and traffic, those with the greatest effect first."""
    pools, traffic = scenario.pools, scenario.traffic
    yield Axis("copies", pools.copies, 1, functools.partial(_with_copies, scenario))
    fewest = max((kind.least_devices for kind in scenario.claim_kinds), default=1)
    of_pools: _Sizes = {
        "nodes": max(1, pools.zones, pools.imported_nodes),
        "devices_per_node": 0 if pools.more else fewest,
    }
    for key, least in of_pools.items():
        name, now = key.replace("_", " "), getattr(pools, key)
        yield Axis(name, now, least, functools.partial(_pooled, scenario, key))
        yield Axis(
            f"{name}, same load", now, least, functools.partial(_with, scenario, "pools", key)
        )
    for key, least in _OF_TRAFFIC.items():
        if now := getattr(traffic, key, 0):
            resized = functools.partial(_with, scenario, "traffic", key)
            yield Axis(key.replace("_", " "), now, least, resized)
    if isinstance(traffic, traffic_specs.ObjectsTraffic) and all(
        one.is_whole for one in traffic.sets
    ):
        yield Axis("files", len(traffic.sets), 1, functools.partial(_with_files, scenario, traffic))
    if isinstance(traffic, traffic_specs.TimedTraffic):
        longest = max(traffic.duration_s, traffic.duration_max_s)
        shorter = functools.partial(_lasting, scenario, traffic)
        yield Axis("seconds of load", longest, _DURATION_LEAST_S, shorter)


def part_axes(scenario: specs.Scenario) -> Iterator[Axis]:
    for part in _parts(scenario):
        for key, least in part.sizes.items():
            now = getattr(part.table, key, None)
            has_no_effect = key == "interval_s" and getattr(part.table, "times", None) == 1
            if now and not has_no_effect:
                yield Axis(
                    f"{key} of {part.name}", now, least, functools.partial(part.updated, key)
                )


def without(scenario: specs.Scenario) -> Iterator[Axis]:
    """Yield each kind of claims, kind of pools, change and fault, which is there or is not."""
    for part in _parts(scenario):
        yield _switch(part.name, functools.partial(part.replaced, []))


def plainer(scenario: specs.Scenario) -> Iterator[Axis]:
    for part in _parts(scenario):
        for key, plain in _PLAIN.items() if part.sizes is _OF_FAULTS else ():
            if getattr(part.table, key, plain) != plain:
                left_out = functools.partial(part.updated, key, plain)
                yield _switch(f"{key} of {part.name}", left_out)


def _switch(name: str, off: Callable[[], specs.Scenario]) -> Axis:
    return Axis(name, 1, 0, lambda _: off())


def _parts(scenario: specs.Scenario) -> Iterator[_Part]:
    pools = scenario.pools

    def of_pools(key: str) -> Callable[[list[Any]], specs.Scenario]:
        return lambda tables: changed(scenario, pools=pools.model_copy(update={key: tables}))

    claims = scenario.claims if len(scenario.claims) > 1 else []
    names = [f"claims {number}" for number, _ in enumerate(claims, 1)]
    yield from _listed(names, claims, {}, lambda tables: changed(scenario, claims=tables))
    names = [f"pools {kind.name}" for kind in pools.more]
    yield from _listed(names, pools.more, _OF_POOLS, of_pools("more"))
    names = [f"pool change {number} ({one.kind})" for number, one in enumerate(pools.changes, 1)]
    yield from _listed(names, pools.changes, _OF_CHANGES, of_pools("changes"))
    # With their names, which would otherwise depend on the faults before.
    faults = [
        spec if name == spec.kind else spec.model_copy(update={"name": name})
        for name, spec in scenario.named_faults
    ]
    names = [name for name, _ in scenario.named_faults]
    yield from _listed(names, faults, _OF_FAULTS, lambda tables: changed(scenario, faults=tables))


def _listed(
    names: Sequence[str],
    tables: Sequence[Any],
    sizes: _Sizes,
    changed_to: Callable[[list[Any]], specs.Scenario],
) -> Iterator[_Part]:
    """Yield the last one first, so that those before it keep their numbers."""

    def replaced(index: int, others: list[Any]) -> specs.Scenario:
        return changed_to([*tables[:index], *others, *tables[index + 1 :]])

    for index in reversed(range(len(tables))):
        yield _Part(names[index], tables[index], sizes, functools.partial(replaced, index))


def _with(scenario: specs.Scenario, table: str, key: str, size: float) -> specs.Scenario:
    updated = getattr(scenario, table).model_copy(update={key: int(size)})
    return changed(scenario, **{table: updated})


def _with_files(
    scenario: specs.Scenario, traffic: traffic_specs.ObjectsTraffic, count: float
) -> specs.Scenario:
    kept = traffic.sets[: int(count)]
    update = {"sets": kept, "objects": [one.file for one in kept]}
    return changed(scenario, traffic=traffic.model_copy(update=update))


def _lasting(
    scenario: specs.Scenario, traffic: traffic_specs.TimedTraffic, seconds: float
) -> specs.Scenario:
    """Return it with a shorter load; runs that stop at a violation use the longest time."""
    shorter = {"duration_s": min(seconds, traffic.duration_s), "duration_max_s": seconds}
    return changed(scenario, traffic=traffic.model_copy(update=shorter))


def _pooled(scenario: specs.Scenario, key: str, size: float) -> specs.Scenario:
    share = size / getattr(scenario.pools, key)
    load = "pods" if isinstance(scenario.traffic, traffic_specs.AllAtOnceTraffic) else "users"
    now = getattr(scenario.traffic, load)
    fewer = min(now, max(PODS_LEAST, math.ceil(now * share)))
    traffic = scenario.traffic.model_copy(update={load: fewer})
    return _with(scenario.model_copy(update={"traffic": traffic}), "pools", key, size)


def _with_copies(scenario: specs.Scenario, copies: float) -> specs.Scenario:
    pools = scenario.pools.model_copy(update={"copies": int(copies)})
    nodes = scenario.pools.nodes - scenario.pools.imported_nodes + pools.imported_nodes
    return changed(scenario, pools=pools.model_copy(update={"nodes": max(1, nodes)}))


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
