"""Claims that are allocated, and pods that are bound, by one part of the scheduler with a defect,
as a recorder writes them down for the checks of allocations and bindings.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from harness.checks import verdicts
from harness.checks.claims import bound_pods
from harness.checks.devices import (
    granted_devices,
    reachable_devices,
    requested_devices,
)
from harness.client import apis
from harness.subject import assembling
from harness.subject.allocation import allocated_states, inventories
from harness.subject.objects import claims
from tests.histories import placements
from tests.histories.placements import claim, device, device_class, exactly, node, on, piece
from tests.support import api_objects, local_servers, plugin_world

pytestmark = pytest.mark.detection
Object = dict[str, Any]
Events = list[placements.Event | None]
NODE = node("n1")
D1, D2, D3 = (
    device(name, attributes={"numa": numa, f"{placements.DRIVER}/big": name == "D3"})
    for name, numa in (("D1", 0), ("D2", 1), ("D3", 0))
)
PIECE = piece(D1, D2, D3)
NUMA = f"{placements.DRIVER}/numa"
BIG = f"device.attributes['{placements.DRIVER}'].big"


@dataclasses.dataclass(frozen=True)
class Play:
    """A part of the scheduler acts: the history of it, and the check that a defect of it breaks."""

    exposes: str
    check: str
    perform: Callable[[Sequence[str]], Events]
    """Takes the defects."""
    view: int = 0
    """The version of the slices that the scheduler had dealt with; 0: unknown."""


def _allocating(**fields: Any) -> Callable[[Sequence[str]], Events]:
    """One claim is allocated on the only node."""

    def perform(defects: Sequence[str]) -> Events:
        made = claims.with_metadata(claim("c", **fields).obj, resourceVersion="1")
        allocation = _allocation(made, inventories.snapshot_of([PIECE.obj]), defects)
        return [NODE, node("n2"), device_class(), PIECE, _allocated(made, allocation)]

    return perform


def _allocation(
    made: Object, snapshot: inventories.Snapshot, defects: Sequence[str] = ()
) -> Object | None:
    """Return what an allocator grants the claim on the node."""
    classes = {placements.CLASS: device_class().obj}
    state = allocated_states.AllocatedState()
    allocator = assembling.parts(defects).new_allocator(snapshot, state, classes, [made])
    [allocation] = allocator.allocate(NODE.obj) or [None]
    return allocation


def _allocated(obj: Object, allocation: Object | None) -> placements.Event:
    return placements.Event({**obj, "status": {"allocation": allocation} if allocation else {}})


def _deleting(defects: Sequence[str]) -> Events:
    """The slice goes, and comes back after a claim has been tried."""
    inventory = inventories.Inventory()
    tracker = assembling.parts(defects).slice_tracker([inventory])
    stored = claims.with_metadata(PIECE.obj, resourceVersion="1")
    tracker.on_add(stored, initial=True)
    tracker.on_delete(stored)
    made = claims.with_metadata(claim("c").obj, resourceVersion="1")
    found = _allocation(made, inventory.snapshot())
    tried = _allocated(made, found) if found else None
    later = _allocated(
        made, claim("c", placements.result("D1"), selector=on("n1")).obj["status"]["allocation"]
    )
    events = [NODE, device_class(), PIECE, placements.gone(PIECE), tried, PIECE]
    return [*events, None if found else later]


def _sharing(defects: Sequence[str]) -> Events:
    """A claim is allocated on one node; then another pod that uses it is tried on two nodes."""
    world = plugin_world.World(local_servers.LocalServer(1), assembling.parts(defects))
    allocated = api_objects.allocation("a", node="worker-0")
    world.claim("c", allocated=allocated)
    pod = world.pod("p", "c")
    events: Events = [placements.node(name) for name in ("worker-0", "worker-1")]
    events += [_named(api_objects.device_class()), _named(api_objects.slice_of("a", "b"))]
    events += [placements.Event(pod), placements.Event(world.stored("c"))]
    attempt = world.plugin.pre_filter(pod)
    nodes = [api_objects.node(name) for name in ("worker-1", "worker-0")]
    fits = next(item for item in nodes if world.plugin.filter(attempt, item) is not None)
    world.plugin.reserve(attempt, fits, [])
    world.plugin.pre_bind(attempt)
    events.append(placements.Event(world.stored("c")))
    world.api.bind(pod, fits["metadata"]["name"])
    events.append(placements.Event(world.api.get(apis.PODS, "p", namespace="default")))
    return events


def _named(obj: Object) -> placements.Event:
    """An object as if it came from the server."""
    return placements.Event({**obj, "metadata": {"uid": "u", **obj["metadata"]}})


PLAYS = (
    Play(
        "selectors-not-asked",
        requested_devices.SELECTED_DEVICES.name,
        _allocating(requests=[exactly("r", BIG)]),
    ),
    Play(
        "constraints-not-asked",
        requested_devices.CLAIM_CONSTRAINTS.name,
        _allocating(requests=[exactly(count=2)], constraints=[{"matchAttribute": NUMA}]),
    ),
    Play(
        "one-device-enough",
        requested_devices.REQUESTED_RESULTS.name,
        _allocating(requests=[exactly(count=2)]),
    ),
    Play("admin-access-for-all", granted_devices.GRANTED_ACCESS.name, _allocating()),
    Play("whole-devices-shared", granted_devices.GRANTED_SHARES.name, _allocating()),
    Play("node-selector-not-written", reachable_devices.REACHABLE_DEVICES.name, _allocating()),
    Play(
        "admin-device-twice",
        granted_devices.DISTINCT_DEVICES.name,
        _allocating(requests=[exactly("r", adminAccess=True), exactly("q", adminAccess=True)]),
    ),
    Play("slice-deletions-unseen", reachable_devices.EXISTING_DEVICES.name, _deleting, view=4),
    Play("node-selector-not-asked", bound_pods.CHECK.name, _sharing),
    Play("bound-before-reserved", bound_pods.CHECK.name, _sharing),
)


def judge(play: Play, *defects: str) -> dict[str, verdicts.Verdict]:
    views = {"c": play.view} if play.view else {}
    given = placements.evidence(play.perform(defects), views=views)
    answers = [
        check.judge(given)
        for check in (
            reachable_devices.EXISTING_DEVICES,
            requested_devices.REQUESTED_RESULTS,
            bound_pods.CHECK,
            requested_devices.SELECTED_DEVICES,
            requested_devices.CLAIM_CONSTRAINTS,
            granted_devices.GRANTED_ACCESS,
            granted_devices.GRANTED_SHARES,
            granted_devices.COPIED_RESULTS,
            reachable_devices.REACHABLE_DEVICES,
            granted_devices.DISTINCT_DEVICES,
        )
    ]
    return {item.check: item.verdict for item in answers if isinstance(item, verdicts.CheckResult)}


plays = pytest.mark.parametrize("play", PLAYS, ids=lambda play: str(play.exposes))


@plays
def test_a_defect_is_caught_by_its_check(play: Play) -> None:
    found = judge(play, play.exposes)
    assert found[play.check] is verdicts.Verdict.INVALID


@plays
def test_the_correct_code_keeps_all_promises(play: Play) -> None:
    found = judge(play)
    assert found[play.check] is verdicts.Verdict.VALID
    assert set(found.values()) == {verdicts.Verdict.VALID}
