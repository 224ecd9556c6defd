"""The allocator: allocations per second by cluster and by what is asked for."""

import time
from collections.abc import Iterator
from typing import Any

from harness.subject.allocation import allocated_states, allocators, device_sets, inventories

Object = dict[str, Any]
DRIVER, DEVICES, SECONDS = "gpu.example.com", 10, 1.0
CLASSES = {"gpu": {"metadata": {"name": "gpu"}, "spec": {}}}
CEL = {"selectors": [{"cel": {"expression": f'device.attributes["{DRIVER}"].numa == 1'}}]}
MATCH = [{"matchAttribute": f"{DRIVER}/numa"}]


def measure() -> Iterator[tuple[str, float, str]]:
    """Measure allocations on one node, and a change of one slice, in clusters of several sizes."""
    for nodes in (100, 500, 5000):
        slices = [_slice(index) for index in range(nodes)]
        inventory = inventories.Inventory()
        for piece in slices:
            inventory.on_add(piece, initial=True)
        for share in (0, 50):
            state = allocated_states.AllocatedState(device_sets.DeviceSet(_in_use(nodes, share)))
            name = f"{nodes} nodes x {DEVICES}, {share} % in use"
            yield name, _rate(inventory, state, _claim({})), "claims/s"
            yield f"{name}, CEL", _rate(inventory, state, _claim(CEL)), "claims/s"
            claim = _claim({"count": 2}, MATCH)
            yield f"{name}, matchAttribute", _rate(inventory, state, claim), "claims/s"
        yield f"{nodes} nodes: one slice changes", _change_rate(inventory, slices[0]), "changes/s"


def _rate(
    inventory: inventories.Inventory, state: allocated_states.AllocatedState, claim: Object
) -> float:
    node, count, started = _node(0), 0, time.perf_counter()
    while time.perf_counter() - started < SECONDS:
        allocators.Allocator(inventory.snapshot(), state, CLASSES, [claim]).allocate(node)
        count += 1
    return count / (time.perf_counter() - started)


def _change_rate(inventory: inventories.Inventory, piece: Object) -> float:
    node, count, started = _node(0), 0, time.perf_counter()
    while time.perf_counter() - started < SECONDS:
        inventory.on_update(piece, dict(piece))
        inventory.snapshot().view(node)
        count += 1
    return count / (time.perf_counter() - started)


def _node(index: int) -> Object:
    return {"metadata": {"name": f"worker-{index}", "labels": {}}}


def _slice(index: int) -> Object:
    name = f"worker-{index}"
    devices = [
        {"name": f"gpu-{number}", "attributes": {"numa": {"int": number % 2}}}
        for number in range(DEVICES)
    ]
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "pool": pool, "nodeName": name, "devices": devices}
    return {"metadata": {"name": name}, "spec": spec}


def _in_use(nodes: int, percent: int) -> set[str]:
    used = DEVICES * percent // 100
    return {f"{DRIVER}/worker-{n}/gpu-{d}" for n in range(nodes) for d in range(used)}


def _claim(more: Object, constraints: list[Object] | None = None) -> Object:
    request = {"name": "r", "exactly": {"deviceClassName": "gpu", **more}}
    devices = {"requests": [request], "constraints": constraints or []}
    return {"metadata": {"name": "c"}, "spec": {"devices": devices}}
