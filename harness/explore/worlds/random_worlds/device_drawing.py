"""Draws the nodes and pools of a world: plain devices, kinds, counters, shares, conditions, …"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from harness.explore.worlds import literals, parts, world_fixtures
from harness.explore.worlds.random_worlds import drawings
from harness.model.objects import Object

Stream = drawings.DrawingStream
KIND = "gpu.example/kind"
OTHER_DRIVER = "other.example"
TAINT = {"key": "gpu.example/worn", "effect": "NoSchedule"}
TOTAL = 10
"""The memory of a device that is shared, or of a set of counters."""
_SET = "whole"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Supply:
    """The nodes and their pools."""

    nodes: tuple[str, ...]
    pools: tuple[parts.Part, ...]
    kinds: tuple[str, ...] = ()
    """Values of the attribute that devices have; empty: they have none."""
    drivers: tuple[str, ...] = (world_fixtures.DRIVER,)
    has_shares: bool = False
    has_taints: bool = False
    has_conditions: bool = False
    has_lists: bool = False
    has_partitions: bool = False
    """True for the devices of `partition_drawing`."""
    is_plain: bool = False
    """True if each node has a plain `device-0`, which may be allocated before."""
    is_roomy: bool = False
    """True if a node has three plain devices, and one pod can be planned with two of them."""
    is_tight: bool = False
    """True if a search may have to give devices up again."""


def supply(stream: Stream) -> Supply:
    """Draw nodes with pools of one shape."""
    name, shape = stream.weighted(_SHAPES)
    nodes = ("worker-0", "worker-1") if stream.chance(0.35, "two nodes") else ("worker-0",)
    stream.note(f"devices: {name}")
    return shape(stream, nodes)


def few(stream: Stream) -> Supply:
    """Draw a node with one device, or two."""
    node = "worker-0"
    listed = world_fixtures.devices(stream.weighted([(1, 2), (2, 1)]))
    return Supply(nodes=(node,), pools=(_of_one_slice(listed, node),), is_plain=True)


# ------------------------------------------------------------------------------- the shapes


def _plain(stream: Stream, nodes: tuple[str, ...]) -> Supply:
    counts = [stream.weighted([(1, 7), (2, 3), (3, 2.5)]) for _ in nodes]
    numbered = zip(nodes, counts, strict=True)
    pools = [_of_one_slice(world_fixtures.devices(count), node) for node, count in numbered]
    if stream.chance(0.1, "pool of all nodes"):
        anywhere = world_fixtures.pool(
            [{"name": "net-0"}], name="net", nodeName=None, allNodes=True
        )
        pools.append(literals.there(anywhere))
    return Supply(nodes=nodes, pools=tuple(pools), is_plain=True, is_roomy=max(counts) > 2)


def _tainted(stream: Stream, nodes: tuple[str, ...]) -> Supply:
    def change(_: int, device: Object) -> None:
        if stream.chance(0.5):
            device["taints"] = [TAINT]

    return Supply(nodes=nodes, pools=_drawn(stream, nodes, (1, 3), change), has_taints=True)


def _kinds(stream: Stream, nodes: tuple[str, ...]) -> Supply:
    values = ("x", "y", "z")

    def change(_: int, device: Object) -> None:
        device["attributes"] = {KIND: {"string": stream.one_of(values)}}

    pools = _drawn(stream, nodes, (2, 4), change)
    return Supply(nodes=nodes, pools=pools, kinds=values, is_tight=True)


def _lists(stream: Stream, nodes: tuple[str, ...]) -> Supply:
    values = ("a", "b", "c")
    node = nodes[0]
    listed = world_fixtures.devices(4)
    if stream.chance(0.3, "devices: the first two have less in common than others"):
        left, right, other = stream.some_of(values, 3)
        chosen = [{left, right}, {left}, {right}, {right, other}]
    else:
        chosen = [{*stream.some_of(values, stream.weighted([(1, 1), (2, 2)]))} for _ in listed]
    for device, kinds in zip(listed, chosen, strict=True):
        device["attributes"] = {KIND: {"strings": sorted(kinds)}}
    pool = _of_one_slice(listed, node)
    return Supply(nodes=nodes, pools=(pool,), kinds=values, has_lists=True, is_tight=True)


def _counters(stream: Stream, nodes: tuple[str, ...]) -> Supply:
    has_kinds = stream.chance(0.5)
    has_taints = stream.chance(0.65, "devices: counters and taints")

    def change(_: int, device: Object) -> None:
        device["consumesCounters"] = [_consumed(stream.one_of((2, 4, 8, 8)))]
        if has_kinds:
            device["attributes"] = {KIND: {"string": stream.one_of(("x", "y"))}}
        if has_taints and stream.chance(0.5):
            device["taints"] = [TAINT]

    pools, kinds = _drawn(stream, nodes, (2, 3), change), ("x", "y") if has_kinds else ()
    return Supply(nodes=nodes, pools=pools, kinds=kinds, has_taints=has_taints, is_tight=True)


def _two_drivers(stream: Stream, nodes: tuple[str, ...]) -> Supply:
    node = nodes[0]
    drivers = (world_fixtures.DRIVER, OTHER_DRIVER)
    pools = []
    for driver in drivers:
        counter_set = f"set-of-{driver.partition('.')[0]}"
        listed = world_fixtures.devices(stream.number(1, 3))
        for device in listed:
            device["consumesCounters"] = [_consumed(stream.one_of((1, 4, 8)), counter_set)]
        slices = _with_counters(listed, node, driver=driver)
        pools.append(literals.there(*slices, name=driver))
    return Supply(nodes=nodes, pools=tuple(pools), drivers=drivers, is_tight=True)


def _across_nodes(stream: Stream, nodes: tuple[str, ...]) -> Supply:
    nodes = ("worker-0", "worker-1")
    listed = world_fixtures.devices(stream.number(2, 4))
    for index, device in enumerate(listed):
        device["nodeName"] = nodes[index % 2]
        device["consumesCounters"] = [_consumed(stream.one_of((4, 8)))]
    across = _with_counters(listed, "across", nodeName=None, perDeviceNodeSelection=True)
    return Supply(nodes=nodes, pools=(literals.there(*across, name="across"),))


def _shares(stream: Stream, nodes: tuple[str, ...]) -> Supply:
    has_counters = stream.chance(0.4, "devices: shares that consume counters")

    def change(index: int, device: Object) -> None:
        if has_counters:
            device["consumesCounters"] = [_consumed(stream.one_of((4, 6, 8)))]
        is_shared = index == 0 or stream.chance(0.3)
        if is_shared:
            device["allowMultipleAllocations"] = True
            device["capacity"] = {"memory": {"value": str(TOTAL)}}
        device["attributes"] = {KIND: {"string": "shared" if is_shared else "whole"}}

    pools = _drawn(stream, nodes, (1, 3), change)
    return Supply(nodes=nodes, pools=pools, kinds=("shared", "whole"), has_shares=True)


def _conditions(stream: Stream, nodes: tuple[str, ...]) -> Supply:
    pools = _drawn(stream, nodes, (1, 2), lambda _, it: it.update(world_fixtures.CONDITIONS))
    return Supply(nodes=nodes, pools=pools, has_conditions=True)


_Shape = Callable[[Stream, tuple[str, ...]], Supply]
_SHAPES: Sequence[tuple[tuple[str, _Shape], float]] = (
    (("plain", _plain), 8),
    (("tainted", _tainted), 0.8),
    (("of kinds", _kinds), 2.5),
    (("lists of kinds", _lists), 3),
    (("counters", _counters), 3),
    (("two drivers with pools of one name", _two_drivers), 1),
    (("a pool across nodes", _across_nodes), 0.8),
    (("shares", _shares), 2.2),
    (("binding conditions", _conditions), 0.8),
)


# ---------------------------------------------------------------------------- their objects


def _drawn(
    stream: Stream,
    nodes: tuple[str, ...],
    count: tuple[int, int],
    change: Callable[[int, Object], None],
) -> tuple[parts.Part, ...]:
    """Return a pool for each node with such a number of devices, each changed in its turn."""
    pools = []
    for node in nodes:
        listed = world_fixtures.devices(stream.number(*count))
        for index, device in enumerate(listed):
            change(index, device)
        if "consumesCounters" in listed[0]:
            pools.append(literals.there(*_with_counters(listed, node), name=node))
        else:
            pools.append(_of_one_slice(listed, node))
    return tuple(pools)


def _of_one_slice(devices: Sequence[Object], node: str) -> parts.Part:
    return literals.there(world_fixtures.pool(devices, name=node))


def _with_counters(
    devices: Sequence[Object], node: str, *, driver: str = world_fixtures.DRIVER, **spec: Any
) -> list[Object]:
    names = {item["counterSet"] for device in devices for item in device["consumesCounters"]}
    declared = [{"name": name, "counters": _memory(TOTAL)} for name in sorted(names)]
    return world_fixtures.counted_pool(devices, declared, name=node, driver=driver, **spec)


def _consumed(memory: int, counter_set: str = _SET) -> Object:
    return {"counterSet": counter_set, "counters": _memory(memory)}


def _memory(amount: int) -> Object:
    return {"memory": {"value": str(amount)}}
