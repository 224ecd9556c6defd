"""What the ResourceSlices offer: pools, their devices, and which of them a node can use.

Per pool (driver, name) the highest generation wins; a pool with missing slices or doubled device names is skipped. Devices that
need what the allocator does not know (counters, sharing, binding conditions, taints) are never offered: it must not
give away what it does not understand.
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


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Device:
    """A device that can be allocated."""

    id: str
    """`driver/pool/device`"""
    driver: str
    pool: str
    name: str
    document: Mapping[str, Any]
    """As the slice has it: attributes, capacity."""
    is_node_local: bool

    def attribute(self, name: str) -> tuple[str, Any] | None:
        """(type, value) of a (qualified) attribute, since for Python 1 is True; None when the device has none."""
        attributes = self.document.get("attributes") or {}
        value = attributes.get(name) or attributes.get(name.removeprefix(f"{self.driver}/"))
        return next(iter(value.items())) if value else None


class Inventory:
    """Follows the ResourceSlices; a handler of their informer."""

    def __init__(self) -> None:
        self._guard = concurrency.lock("inventory")
        self._slices: dict[str, Object] = {}
        self._snapshot: Snapshot | None = None

    def snapshot(self) -> "Snapshot":
        """The slices at this moment; the same object until one of them changes."""
        with self._guard:
            if self._snapshot is None:
                self._snapshot = Snapshot(self._slices.values())
            return self._snapshot

    def on_add(self, obj: Object, *, initial: bool) -> None:
        """A slice is new."""
        del initial
        self._put(obj)

    def on_update(self, old: Object, new: Object) -> None:
        """A slice has changed."""
        del old
        self._put(new)

    def on_delete(self, last: Object) -> None:
        """A slice is gone."""
        with self._guard:
            self._slices.pop(informers.key_of(last), None)
            self._snapshot = None

    def _put(self, obj: Object) -> None:
        with self._guard:
            self._slices[informers.key_of(obj)] = obj
            self._snapshot = None


class Snapshot:
    """An immutable state of the slices; remembers what selectors said of it (devices do not change within it)."""

    def __init__(self, slices: Iterable[Object]) -> None:
        self._pools = [pool for pool in _pools(slices) if _is_whole(pool)]
        self._matching: dict[object, tuple[Device, ...]] = {}

    def matching(self, node: Object, selectors: tuple[str, ...]) -> tuple[Device, ...]:
        """The devices that the node can use and that satisfy all selectors, in the slices' order; SelectorError."""
        meta = node["metadata"]
        key = (meta["name"], frozenset(meta.get("labels", {}).items()), selectors)
        if key not in self._matching:
            self._matching[key] = tuple(
                device for device in self._visible_from(node) if _satisfies(device, selectors)
            )
        return self._matching[key]

    def _visible_from(self, node: Object) -> Iterable[Device]:
        for pool in self._pools:
            for piece in pool:
                yield from _devices(piece, node)


def _pools(slices: Iterable[Object]) -> Iterable[list[Object]]:
    pools: dict[tuple[str, str], list[Object]] = collections.defaultdict(list)
    for piece in sorted(slices, key=lambda piece: _natural(piece["metadata"]["name"])):
        pools[piece["spec"]["driver"], piece["spec"]["pool"]["name"]].append(piece)
    for pieces in pools.values():
        newest = max(piece["spec"]["pool"]["generation"] for piece in pieces)
        yield [piece for piece in pieces if piece["spec"]["pool"]["generation"] == newest]


def _natural(name: str) -> tuple[int, str]:
    """worker-9 before worker-10."""
    return len(name), name


def _is_whole(pool: list[Object]) -> bool:
    names = [device["name"] for piece in pool for device in piece["spec"].get("devices") or ()]
    expected = pool[0]["spec"]["pool"]["resourceSliceCount"]
    return len(pool) == expected and len(names) == len(set(names))


def _devices(piece: Object, node: Object) -> Iterable[Device]:
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


def _satisfies(device: Device, selectors: tuple[str, ...]) -> bool:
    return all(
        expressions.compiled(text).matches(device.driver, device.document) for text in selectors
    )
