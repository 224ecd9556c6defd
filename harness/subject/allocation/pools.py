"""Pools: the slices of a driver under one name, and what one node sees of them.

After pools.go of k8s.io/dynamic-resource-allocation/structured. Only slices of the newest
generation that a node sees count. A pool is incomplete while some of its slices are missing, on
whatever nodes they are; it is invalid if a device name occurs twice on the node, if a counter set
occurs twice, or if a device consumes a counter that no slice of the pool declares.
"""

import collections
import dataclasses
import functools
import itertools
from collections.abc import Iterable, Iterator
from decimal import Decimal

from harness.model.objects import Object
from harness.subject.allocation import capacities, devices
from harness.subject.objects import nodes, quantities


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class NodePool:
    """The part of a pool that a node can use."""

    pool: "Pool"
    devices: tuple[devices.Device, ...]
    """Ordered by slice name, then as in the slice."""
    fault: str | None
    """Why no device of the pool may be allocated; None: they may be."""
    is_invalid: bool
    """The fault is more than a slice that has yet to come."""
    comes_last: bool = False
    """A slice that the node sees has a device, for whatever node, with binding conditions."""


class Pool:
    """The slices of a pool; it never changes."""

    def __init__(self, key: devices.PoolKey, slices: Iterable[Object]) -> None:
        known = sorted(slices, key=lambda piece: str(piece["metadata"]["name"]))
        self.key = key
        self._specs = [piece["spec"] for piece in known]
        self._newest = max(map(_generation, self._specs))
        self._fault: str | None = None
        self._devices: list[tuple[devices.Device, ...]] = []
        self.counters: dict[devices.Counter, Decimal] = {}
        """The declared counters."""
        try:
            self._read()
        except quantities.QuantityError as error:
            self._fault = f"malformed quantity: {error}"

    @property
    def node_name(self) -> str | None:
        """The only node that sees the pool; None: several nodes may."""
        names = {spec.get("nodeName") for spec in self._specs if not spec.get("sharedCounters")}
        has_counters = any(spec.get("sharedCounters") for spec in self._specs)
        return None if has_counters or len(names) != 1 else names.pop()

    def every_device(self) -> Iterator[devices.Device]:
        """Yield the devices of all generations, on all nodes."""
        return itertools.chain.from_iterable(self._devices)

    @functools.cached_property
    def offered(self) -> frozenset[str]:
        """The devices of the newest generation, on all nodes, as `driver/pool/device`."""
        pairs = zip(self._specs, self._devices, strict=True)
        return frozenset(
            device.id
            for spec, listed in pairs
            if _generation(spec) == self._newest
            for device in listed
        )

    def consumers(self) -> Iterator[devices.Device]:
        for spec, listed in zip(self._specs, self._devices, strict=True):
            if _generation(spec) == self._newest:
                yield from (device for device in listed if device.consumes)

    def on_node(self, node: Object) -> NodePool | None:
        """Return what the node sees of the pool; None: nothing.

        A selector of nodes that cannot be understood makes the pool invalid. kube-scheduler fails
        then, also for pods that need no device of the pool.
        """
        try:
            return self._on_node(node)
        except nodes.SelectorError as error:
            return NodePool(self, (), str(error), is_invalid=True)

    def _on_node(self, node: Object) -> NodePool | None:
        seen = [index for index, spec in enumerate(self._specs) if self._is_seen(index, spec, node)]
        newest = max((_generation(self._specs[index]) for index in seen), default=None)
        seen = [index for index in seen if _generation(self._specs[index]) == newest]
        if newest is None or (newest < self._newest and not self._is_old_part_usable(seen)):
            return None
        if not self._is_complete(newest):
            return NodePool(self, (), "is currently being updated", is_invalid=False)
        usable = self._usable(seen, node)
        fault = self._fault or _doubled([d.name for i in seen for d in self._devices[i]], "device")
        comes_last = not fault and any(d.waits for i in seen for d in self._devices[i])
        return NodePool(self, () if fault else usable, fault, fault is not None, comes_last)

    def _is_complete(self, generation: int) -> bool:
        specs = [spec for spec in self._specs if _generation(spec) == generation]
        return bool(len(specs) == specs[0]["pool"]["resourceSliceCount"])

    def _is_old_part_usable(self, seen: list[int]) -> bool:
        """Return whether a node that sees nothing newer sees all of an older generation."""
        expected = self._specs[seen[0]]["pool"]["resourceSliceCount"]
        consumes = any(device.consumes for index in seen for device in self._devices[index])
        return bool(len(seen) == expected) and not consumes

    def _usable(self, seen: list[int], node: Object) -> tuple[devices.Device, ...]:
        return tuple(
            device
            for index in seen
            for device in self._devices[index]
            if not self._specs[index].get("perDeviceNodeSelection") or device.is_on(node)
        )

    def _is_seen(self, index: int, spec: Object, node: Object) -> bool:
        """Return whether a slice counts on the node; one with counters does on all nodes."""
        if spec.get("sharedCounters"):
            return True
        if spec.get("perDeviceNodeSelection"):
            return any(device.is_on(node) for device in self._devices[index])
        return nodes.is_placed_on(spec, node)

    def _read(self) -> None:
        self._devices = [() for _ in self._specs]
        sets: list[str] = []
        for index, spec in enumerate(self._specs):
            listed = () if spec.get("sharedCounters") else spec.get("devices") or ()
            self._devices[index] = tuple(devices.Device(spec, item) for item in listed)
            if _generation(spec) != self._newest:
                continue
            for declared in spec.get("sharedCounters") or ():
                sets.append(declared["name"])
                for name, counter in declared["counters"].items():
                    self.counters[declared["name"], name] = capacities.amount(counter["value"])
        self._fault = _doubled(sets, "counter set") or self._unknown_counter()

    def _unknown_counter(self) -> str | None:
        for device in self.consumers():
            for counter, _ in device.consumes:
                if counter not in self.counters:
                    return f"counter {counter[1]} not found in counter set {counter[0]}"
        return None


def _generation(spec: Object) -> int:
    return int(spec["pool"]["generation"])


def _doubled(names: list[str], what: str) -> str | None:
    if len(names) == len(set(names)):
        return None
    doubled = min(name for name, count in collections.Counter(names).items() if count > 1)
    return f"duplicate {what} name {doubled}"
