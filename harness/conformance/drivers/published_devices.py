"""Devices that a driver has published for a node, as a scheduler sees them."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness.conformance.drivers import cluster_objects

_AMOUNTS = {
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
    "m": 1e-3,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device of the newest generation of its pool."""

    pool: str
    name: str
    is_shared: bool = False
    """Several claims may have it at a time."""
    consumes: Mapping[tuple[str, str, str], float] = dataclasses.field(
        default_factory=dict, compare=False
    )
    """Pool, counter set, counter -> amount."""
    capacity: Mapping[str, str] = dataclasses.field(default_factory=dict, compare=False)
    """Capacity -> what a claim consumes that asks for nothing; empty unless it is shared."""


def of_driver(slices: Iterable[cluster_objects.Object], driver: str, node: str) -> list[Device]:
    """Return the devices of a driver that pods on a node can have, without tainted ones."""
    return [
        _device(item["spec"]["pool"]["name"], device)
        for item in newest(slices)
        if item["spec"]["driver"] == driver and item["spec"].get("nodeName") in (None, node)
        for device in item["spec"].get("devices") or ()
        if not device.get("taints")
    ]


def compatible(devices: Sequence[Device], slices: Iterable[cluster_objects.Object]) -> list[Device]:
    """Return devices that can be allocated at the same time: as many as fit, in their order."""
    left = _counters(slices)
    found = []
    for device in devices:
        if all(left.get(key, 0.0) >= amount for key, amount in device.consumes.items()):
            found.append(device)
            for key, amount in device.consumes.items():
                left[key] -= amount
    return found


def newest(slices: Iterable[cluster_objects.Object]) -> list[cluster_objects.Object]:
    """Return the slices of the newest generation of each pool."""
    items = list(slices)
    last: dict[tuple[str, str], int] = {}
    for item in items:
        last[pool(item)] = max(last.get(pool(item), 0), generation(item))
    return [item for item in items if generation(item) == last[pool(item)]]


def pool(item: cluster_objects.Object) -> tuple[str, str]:
    """Return driver and name of the pool of a slice."""
    return item["spec"]["driver"], item["spec"]["pool"]["name"]


def generation(item: cluster_objects.Object) -> int:
    """Return the generation of the pool that a slice belongs to."""
    return int(item["spec"]["pool"].get("generation") or 0)


def _device(pool_name: str, device: Mapping[str, Any]) -> Device:
    consumes = {
        (pool_name, entry["counterSet"], name): _amount(counter["value"])
        for entry in device.get("consumesCounters") or ()
        for name, counter in entry["counters"].items()
    }
    return Device(
        pool=pool_name,
        name=device["name"],
        is_shared=bool(device.get("allowMultipleAllocations")),
        consumes=consumes,
        capacity=_consumed(device) if device.get("allowMultipleAllocations") else {},
    )


def _consumed(device: Mapping[str, Any]) -> dict[str, str]:
    """Return what a claim that asks for no capacity consumes: without a policy, all."""
    return {
        name: (capacity.get("requestPolicy") or {}).get("default", capacity["value"])
        for name, capacity in (device.get("capacity") or {}).items()
    }


def _counters(slices: Iterable[cluster_objects.Object]) -> dict[tuple[str, str, str], float]:
    return {
        (item["spec"]["pool"]["name"], counters["name"], name): _amount(counter["value"])
        for item in newest(slices)
        for counters in item["spec"].get("sharedCounters") or ()
        for name, counter in counters["counters"].items()
    }


def _amount(value: object) -> float:
    text = str(value)
    for suffix, factor in _AMOUNTS.items():
        if text.endswith(suffix):
            return float(text.removesuffix(suffix)) * factor
    return float(text)
