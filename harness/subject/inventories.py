"""The devices that the ResourceSlices offer, by pool, and the devices that a node can use.

After k8s.io/dynamic-resource-allocation/structured. Of a pool (driver and name) the highest
generation counts; an incomplete pool, or one with duplicate device names, is skipped. Devices with
features that the allocator does not support (counters, multiple allocations, binding conditions,
taints) are never offered, because it could allocate them wrongly.
"""

import collections
import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from harness import concurrency
from harness.client import informers
from harness.subject import expressions, nodes

Object = dict[str, Any]
_UNSUPPORTED = ("consumesCounters", "allowMultipleAllocations", "bindingConditions", "taints")
"""Fields of a device that exclude it from allocation."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Device:
    """A device that can be allocated."""

    id: str
    """`driver/pool/device`."""
    driver: str
    pool: str
    name: str
    document: Mapping[str, Any]
    """The device in its slice, with attributes and capacity."""
    is_node_local: bool

    def attribute(self, name: str) -> tuple[str, Any] | None:
        """Return (type, value) of an attribute, by plain or qualified name; None if it is missing.

        The type is part of the result because `1 == True` in Python.
        """
        attributes = self.document.get("attributes") or {}
        value = attributes.get(name) or attributes.get(name.removeprefix(f"{self.driver}/"))
        return next(iter(value.items())) if value else None


class Inventory:
    """The current ResourceSlices; an event handler of their informer."""

    def __init__(self) -> None:
        self._guard = concurrency.lock("inventory")
        self._slices: dict[str, Object] = {}
        self._snapshot: Snapshot | None = None
        self._results = expressions.Results()

    def snapshot(self) -> "Snapshot":
        """Return the current slices; the same object until one of them changes."""
        with self._guard:
            if self._snapshot is None:
                self._snapshot = Snapshot(self._slices.values(), self._results)
            return self._snapshot

    def on_add(self, obj: Object, *, initial: bool) -> None:
        """Add a slice."""
        del initial
        self._put(obj)

    def on_update(self, old: Object, new: Object) -> None:
        """Replace a slice."""
        del old
        self._put(new)

    def on_delete(self, last: Object) -> None:
        """Remove a slice."""
        with self._guard:
            self._slices.pop(informers.key_of(last), None)
            self._snapshot = None

    def _put(self, obj: Object) -> None:
        with self._guard:
            self._slices[informers.key_of(obj)] = obj
            self._snapshot = None


class Snapshot:
    """An immutable state of all slices, which caches the results of selectors."""

    def __init__(
        self, slices: Iterable[Object], results: expressions.Results | None = None
    ) -> None:
        """Find the pools; `results` are those of selectors known so far, None: none are."""
        self._pools = [pool for pool in _pools(slices) if _is_whole(pool)]
        self._results = results or expressions.Results()
        self._matching: dict[object, tuple[Device, ...]] = {}

    def matching(self, node: Object, selectors: tuple[str, ...]) -> tuple[Device, ...]:
        """Return the devices usable on the node that satisfy all selectors, in slice order.

        Raises SelectorError if a selector does not compile or fails on a device.
        """
        meta = node["metadata"]
        key = (meta["name"], frozenset(meta.get("labels", {}).items()), selectors)
        if key not in self._matching:
            self._matching[key] = tuple(
                device
                for device in self._visible_from(node)
                if _satisfies(device, selectors, self._results)
            )
        return self._matching[key]

    def _visible_from(self, node: Object) -> Iterable[Device]:
        for pool in self._pools:
            for piece in pool:
                yield from _devices(piece, node)


def _pools(slices: Iterable[Object]) -> Iterable[list[Object]]:
    """Yield the slices of each pool's highest generation."""
    pools: dict[tuple[str, str], list[Object]] = collections.defaultdict(list)
    for piece in sorted(slices, key=lambda piece: nodes.natural_order(piece["metadata"]["name"])):
        pools[piece["spec"]["driver"], piece["spec"]["pool"]["name"]].append(piece)
    for pieces in pools.values():
        newest = max(piece["spec"]["pool"]["generation"] for piece in pieces)
        yield [piece for piece in pieces if piece["spec"]["pool"]["generation"] == newest]


def _is_whole(pool: list[Object]) -> bool:
    """Return whether all slices of the pool are there and no device name occurs twice."""
    names = [device["name"] for piece in pool for device in piece["spec"].get("devices") or ()]
    expected = pool[0]["spec"]["pool"]["resourceSliceCount"]
    return len(pool) == expected and len(names) == len(set(names))


def _devices(piece: Object, node: Object) -> Iterable[Device]:
    """Yield the devices of a slice that the node can use and that the allocator supports."""
    spec = piece["spec"]
    if spec.get("sharedCounters"):
        return
    for device in spec.get("devices") or ():
        place = device if spec.get("perDeviceNodeSelection") else spec
        if nodes.is_placed_on(place, node) and not any(device.get(key) for key in _UNSUPPORTED):
            pool = spec["pool"]["name"]
            yield Device(
                id=f"{spec['driver']}/{pool}/{device['name']}",
                driver=spec["driver"],
                pool=pool,
                name=device["name"],
                document=device,
                is_node_local=bool(place.get("nodeName")),
            )


def _satisfies(device: Device, selectors: tuple[str, ...], results: expressions.Results) -> bool:
    return all(
        results.matches(text, device.driver, device.pool, device.document) for text in selectors
    )
