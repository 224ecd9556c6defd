"""Draws devices as real drivers publish them: partitions of unequal size that overlap.

Each node has a GPU, whole and as profiles at places, each a device; they consume the places and the
memory of one counter set and the engines of another. Some can be shared by amounts that a policy
rounds up. A pool of network cards is for all nodes.
"""

from harness.explore.worlds import literals, parts, world_fixtures
from harness.explore.worlds.random_worlds import device_drawing, drawings
from harness.model.objects import Object

Stream = drawings.DrawingStream
PLACES = 4
"""Places of a GPU."""
PROFILES = ("1g", "1g", "2g", "3g", "whole")
"""The names of profiles, by their size in places."""
_SIZES = {"1g": 1, "2g": 2, "3g": 3, "whole": PLACES}
CORES, FIRMWARE = "gpu.example/cores", "gpu.example/firmware"
NET = "net"
"""Name of the pool of all nodes, and the kind of its devices."""


def supply(stream: Stream) -> device_drawing.Supply:
    """Draw one node or two, each with a partitioned GPU."""
    stream.note("devices: partitions of unequal size")
    nodes = ("worker-0", "worker-1") if stream.chance(0.4, "two nodes") else ("worker-0",)
    has_taints = stream.chance(0.3, "devices: partitions and taints")
    pools = [_gpu(stream, node, has_taints=has_taints) for node in nodes]
    if stream.chance(0.35, "pool of all nodes"):
        pools.append(_net(stream))
    return device_drawing.Supply(
        nodes=nodes,
        pools=tuple(pools),
        kinds=("1g", "2g", "whole", NET),
        has_taints=has_taints,
        has_partitions=True,
        is_tight=True,
    )


def _gpu(stream: Stream, node: str, *, has_taints: bool) -> parts.Part:
    unit = stream.one_of(((9984, "Mi"), (10, "Gi"), (500, "m"), (2, "")))
    chosen = [stream.one_of(PROFILES) for _ in range(stream.number(2, 4))]
    listed = [_partition(stream, f"gpu-{n}", profile, unit) for n, profile in enumerate(chosen)]
    for device in listed:
        if has_taints and stream.chance(0.4):
            device["taints"] = [device_drawing.TAINT]
    places = {f"place-{index}": {"value": "1"} for index in range(PLACES)}
    memory = {"memory": {"value": f"{unit[0] * PLACES}{unit[1]}"}}
    declared = [
        {"name": "places", "counters": {**places, **memory}},
        {"name": "engines", "counters": {"copy": {"value": "3"}}},
    ]
    return literals.there(*world_fixtures.counted_pool(listed, declared, name=node), name=node)


def _partition(stream: Stream, name: str, profile: str, unit: tuple[int, str]) -> Object:
    size = _SIZES[profile]
    start = stream.number(0, PLACES - size)
    places = {f"place-{index}": {"value": "1"} for index in range(start, start + size)}
    memory = {"memory": {"value": f"{unit[0] * size}{unit[1]}"}}
    consumed: list[Object] = [{"counterSet": "places", "counters": {**places, **memory}}]
    if stream.chance(0.5, "devices: two counter sets"):
        engines = {"copy": {"value": stream.one_of(("0", "1", "2"))}}
        consumed.append({"counterSet": "engines", "counters": engines})
    made: Object = {
        "name": name,
        "attributes": {
            device_drawing.KIND: {"string": profile},
            CORES: {"int": size},
            FIRMWARE: {"version": stream.one_of(("1.9.0", "1.10.0", "2.0.0"))},
        },
        "consumesCounters": consumed,
    }
    return world_fixtures.with_slots(
        made, is_shared=stream.chance(0.35, "devices: partitions that are shared")
    )


def _net(stream: Stream) -> parts.Part:
    listed = [
        {"name": f"net-{index}", "attributes": {device_drawing.KIND: {"string": NET}}}
        for index in range(stream.number(1, 2))
    ]
    return literals.there(world_fixtures.pool(listed, name=NET, nodeName=None, allNodes=True))
