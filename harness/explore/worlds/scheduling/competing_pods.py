"""Pods, each with a claim of its own, that compete for the devices of one node, or of several.

In `answers-first` the claims have the finalizer already, so that a binding writes its claim once:
no event of the same claim can be on its way. That separates the two variants of the first race of
kubernetes#136269: the event of a write comes before its answer, or a binding thread meets the
informer's thread, which is delivering the event of a claim that has nothing to do with the binding.
With more than two pods, the claims of the others are unrelated traffic as well.
"""

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from harness.explore.worlds import api_server, literals, parts, world_fixtures, world_specs
from harness.explore.worlds.oracles import device_oracles
from harness.model.objects import Object

WATCHES = ("drop-watch", "expire-watch")
"""The faults of watches."""
TOTAL, PART = 10, 4
"""The memory of a device, and what each claim takes of it: two claims fit, a third does not."""
_UNRELATED = "unrelated-claim"
_SET = "whole"


def competing(
    sizes: world_specs.Values, *, late: int = 0, when: str = "allocated", is_at_once: bool = True
) -> Iterator[parts.Part]:
    """Yield devices, claims, and a pod for each; the last ones come late."""
    yield literals.pool(sizes["devices"])
    yield from literals.claims(sizes["claims"])
    early = sizes["claims"] - late
    yield from literals.pods(early)
    for number in range(early + 1, sizes["claims"] + 1):
        name = f"late-pod-{number}"  # sorts first, so it is tried first
        yield literals.pod(name, f"claim-{number}", when=when, is_at_once=is_at_once)


def _beside_unrelated(sizes: world_specs.Values) -> Iterator[parts.Part]:
    for part in competing(sizes):
        if part.kind == "claim":
            part.documents[0]["metadata"]["finalizers"] = [world_fixtures.FINALIZER]
        yield part
    yield literals.there(world_fixtures.claim(_UNRELATED))


def _moved(sizes: world_specs.Values) -> Iterator[parts.Part]:
    yield from competing(sizes, late=1, when=parts.AT_REST, is_at_once=False)
    last = f"device-{sizes['devices'] - 1}"
    yield literals.does("move_claim", f"claim-1 {last}", when="allocated")


def _extended(sizes: world_specs.Values) -> Iterator[parts.Part]:
    yield literals.pool(sizes["devices"])
    for number in range(1, sizes["claims"]):
        yield literals.pod(f"pod-{number}")
    yield literals.pod(f"late-pod-{sizes['claims']}", when="allocated", is_at_once=True)


def _shares(sizes: world_specs.Values) -> Iterator[parts.Part]:
    device = {
        "name": "device-0",
        "allowMultipleAllocations": True,
        "capacity": {"memory": {"value": str(TOTAL)}},
    }
    yield literals.there(world_fixtures.pool([device]))
    wanted = {"requests": {"memory": str(PART)}}
    yield from literals.claims(sizes["claims"], capacity=wanted)
    yield from literals.pods(sizes["claims"])


def _partitions(sizes: world_specs.Values) -> Iterator[parts.Part]:
    """Yield more partitions of one device than can be used at once."""
    partitions = [
        {**device, "consumesCounters": [_counters("counterSet", PART)]}
        for device in world_fixtures.devices(sizes["claims"])
    ]
    slices = world_fixtures.counted_pool(partitions, [_counters("name", TOTAL)])
    yield literals.there(*slices)
    yield from literals.claims(sizes["claims"])
    yield from literals.pods(sizes["claims"])


def _counters(key: str, memory: int) -> Object:
    """Return counters of the set, which `key` names: as declared, or as consumed."""
    return {key: _SET, "counters": {"memory": {"value": str(memory)}}}


def _on_nodes(sizes: world_specs.Values) -> Iterator[parts.Part]:
    for index in range(sizes["nodes"]):
        yield literals.pool(name=f"worker-{index}")
    yield from literals.claims(sizes["nodes"])
    yield from literals.pods(sizes["nodes"])


def spec(
    title: str,
    made_of: Callable[[world_specs.Values], Iterable[parts.Part]],
    *,
    claims: int = 2,
    devices: int = 1,
    **options: Any,
) -> world_specs.WorldSpec:
    """Return the spec of a world with that many claims and devices."""
    sizes = {"claims": (claims, 2), "devices": (devices, 1)}
    return literals.spec(title, made_of, **{"oracles": world_specs.EXCLUSIVE, **sizes, **options})


_late = functools.partial(competing, late=1)

WORLDS: dict[str, world_specs.WorldSpec] = {
    "two-claims-one-device": spec("two pods at once, one of them must wait", competing),
    "pod-arrives-during-binding": spec(
        "a second pod is created when the first claim is written", _late
    ),
    "four-claims-two-devices": spec(
        "four pods at once, two of them must wait", competing, claims=4, devices=2
    ),
    "four-claims-four-devices": spec(
        "four pods at once, one device for each", competing, claims=4, devices=4
    ),
    "watch-breaks": spec(
        "a watch breaks and is resumed, or gets 410",
        _late,
        faults=WATCHES,
    ),
    "object-touched": spec(
        "another client changes an object just before it is written: a conflict",
        _late,
        faults=["touch-objects"],
        faults_max=2,
    ),
    "answer-lost": spec(
        "H1: no answer to a write: it was committed, never will be, or will be later",
        competing,
        faults=[*api_server.LOSSES, api_server.OF_BINDINGS],
    ),
    "answers-first": spec(
        "answers come before their events, while another client changes an unrelated claim",
        _beside_unrelated,
        claims=4,
        devices=4,
        faults=["touch-others"],
        faults_max=4,
        answers_first=(1, 1),
    ),
    "reallocated-unseen": spec(
        "H2: another writer changes an allocation while the watch is broken",
        _moved,
        claims=2,
        devices=2,
        faults=WATCHES,
    ),
    "extended-claims": spec(
        "two pods ask for an extended resource, and a third one when a claim is allocated",
        _extended,
        claims=3,
        devices=2,
    ),
    "shares-of-one-device": literals.spec(
        "three claims for shares of one device, whose capacity is enough for two",
        _shares,
        oracles=world_specs.DEVICES,
        claims=(3, 2),
    ),
    "partitions-of-one-device": literals.spec(
        "three claims for partitions of one device, whose counters are enough for two",
        _partitions,
        oracles=world_specs.DEVICES,
        claims=(3, 2),
    ),
    "filter-threads": literals.spec(
        "two threads filter the nodes for each pod",
        _on_nodes,
        oracles=(*world_specs.RESERVED, device_oracles.GrantedDevices),
        nodes=(2, 2),
        threads=(2, 1),
    ),
}
