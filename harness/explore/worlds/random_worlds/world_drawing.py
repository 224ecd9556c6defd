"""Draws whole worlds: a number determines a world, its parts, and everything that happens in it."""

import dataclasses
import functools

from harness import seeds
from harness.explore.worlds import literals, parts
from harness.explore.worlds.lifecycles import node_preparations
from harness.explore.worlds.random_worlds import (
    action_drawing,
    device_drawing,
    drawings,
    partition_drawing,
    pod_drawing,
)

Stream = drawings.DrawingStream


@functools.lru_cache(maxsize=256)
def draw(number: int) -> parts.Setting:
    stream = Stream(seeds.Seeds(number).stream("random-world"))
    if stream.chance(0.05, "node"):
        return _of_node(stream)
    partitioned = Stream(seeds.Seeds(number).stream("partitions"))
    if partitioned.chance(0.25):
        return _drawn(partitioned, partition_drawing.supply(partitioned), is_small=False)
    is_small = stream.chance(0.18, "pods compete for few devices")
    supply = device_drawing.few(stream) if is_small else device_drawing.supply(stream)
    return _drawn(stream, supply, is_small=is_small)


def _of_node(stream: Stream) -> parts.Setting:
    """Draw one node, whose pods begin and end; there is no scheduler, the claims are allocated."""
    chances = {
        node_preparations.REFUSED: "node: a pod is refused",
        node_preparations.REBOOTED: "node: rebooted",
        node_preparations.RESTARTED: "node: kubelet restarts",
    }
    happens = [literals.actor(name) for name, it in chances.items() if stream.chance(0.5, it)]
    numbers = {"pods": stream.number(2, 4), "binders": 1}
    return parts.Setting(
        parts=tuple(happens),
        numbers=numbers,
        features=stream.features,
        is_of_node=True,
        schedulers=(),
    )


def _drawn(stream: Stream, supply: device_drawing.Supply, *, is_small: bool) -> parts.Setting:
    """Draw everything else for these devices."""
    is_controlled = stream.chance(0.7 if is_small else 0.5, "claim controller")
    users = pod_drawing.Users(stream=stream, supply=supply, is_small=is_small)
    if is_small:
        users.draw_competitors()
    else:
        users.draw(is_controlled=is_controlled)
    actors = _actors(stream, supply, is_controlled=is_controlled)
    has_kubelets = any(part.name == parts.KUBELETS for part in actors)
    actions = action_drawing.actions(users, is_controlled=is_controlled, has_kubelets=has_kubelets)
    faults = action_drawing.faults(users, actions)
    others = [*actors, *users.others, *users.pods, *actions, *faults]
    every = [*_pools(stream, supply, others), *others]
    numbers = _numbers(stream, supply, every)
    return parts.Setting(
        parts=tuple(every), numbers=numbers, nodes=supply.nodes, features=stream.features
    )


def _pools(
    stream: Stream, supply: device_drawing.Supply, others: list[parts.Part]
) -> list[parts.Part]:
    """Return the pools; one may come late, unless a device is allocated from the start."""
    pools = list(supply.pools)
    if supply.has_conditions:  # without their driver, devices are never ready
        pools = [
            dataclasses.replace(pool, needs=(*pool.needs, parts.DEVICE_DRIVER)) for pool in pools
        ]
    is_allocated = any("status" in item for part in others for item in part.documents)
    if not (is_allocated or supply.has_lists) and stream.chance(0.1, "pool: comes late"):
        late = stream.number(0, len(pools) - 1)
        when = stream.one_of((parts.ANY_TIME, parts.AT_REST))
        pools[late] = dataclasses.replace(pools[late], when=when)
    return pools


def _actors(
    stream: Stream, supply: device_drawing.Supply, *, is_controlled: bool
) -> list[parts.Part]:
    found = []
    if supply.has_conditions:
        found.append(parts.Part(name=parts.DEVICE_DRIVER, kind="actor", is_own=True))
    if is_controlled:
        when = parts.START
        if stream.chance(0.1, "claim controller: starts late"):
            when = stream.one_of((parts.ANY_TIME, parts.AT_REST))
        found.append(parts.Part(name=parts.CONTROLLER, kind="actor", when=when))
    if is_controlled and stream.chance(0.15, "kubelets"):
        found.append(parts.Part(name=parts.KUBELETS, kind="actor"))
    return found


def _numbers(
    stream: Stream, supply: device_drawing.Supply, every: list[parts.Part]
) -> dict[str, int]:
    numbers = {"binders": stream.weighted([(1, 2), (2, 4), (3, 2)])}
    if len(supply.nodes) > 1 and stream.chance(0.35, "filter threads"):
        numbers["threads"] = 2
    if any(part.kind == "fault" for part in every):
        numbers["faults_max"] = stream.weighted([(1, 4), (2, 3), (3, 1)])
    if stream.chance(0.15, "reservations by patch"):
        numbers["patch"] = 1
    if stream.chance(0.1, "answers before events"):
        numbers["answers_first"] = 1
    if any(part.name == parts.DEVICE_DRIVER for part in every):
        numbers["failures"] = stream.number(0, 1)
    return numbers
