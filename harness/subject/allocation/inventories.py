"""The pools that the ResourceSlices offer, and what each node sees of them.

A changed slice costs the work of its own pool. Pools of one node are found by the node's name; only
those that several nodes may see are looked at for every node. The view of a node is remembered
until one of its pools, or the node's labels, change.
"""

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping

from harness import concurrency
from harness.client import informers
from harness.model.objects import Object
from harness.subject.allocation import device_sets, devices, pools
from harness.subject.cel import selectors as cel_selectors
from harness.subject.objects import change_handlers


class PossibleFailures:
    """Answers for some pools, whatever devices are in use."""

    def __init__(self, known: Collection[pools.Pool]) -> None:
        self._pools = known
        self._of_selectors: dict[tuple[str, ...], bool] = {}

    def of_selectors(self, selectors: tuple[str, ...]) -> bool:
        """Return whether the CEL selectors of a request cannot be evaluated on some device."""
        if selectors not in self._of_selectors:
            if len(self._of_selectors) >= cel_selectors.CACHE_SIZE:
                self._of_selectors.clear()
            self._of_selectors[selectors] = bool(selectors) and any(
                device.fails(selectors) for pool in self._pools for device in pool.every_device()
            )
        return self._of_selectors[selectors]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class NodeView:
    """The pools that a node sees, by driver and name, those with binding conditions last."""

    seen: tuple[pools.Pool, ...]
    """The pools that were asked, in whatever state they were."""
    labels: Mapping[str, str]
    """The node's labels when they were asked."""
    pools: tuple[pools.NodePool, ...]
    devices: tuple[devices.Device, ...]
    """All devices that may be allocated, in order."""


@dataclasses.dataclass(frozen=True, slots=True)
class Snapshot:
    """An immutable state of all pools."""

    by_key: device_sets.PartedMap[devices.PoolKey, pools.Pool]
    failures: PossibleFailures
    _local: Mapping[str, frozenset[devices.PoolKey]]
    """Pools that one node sees, by its name."""
    _views: dict[str, NodeView]
    """Keyed by name of the node; shared by all snapshots; each checks what it finds."""

    def view(self, node: Object) -> NodeView:
        name, labels = node["metadata"]["name"], node["metadata"].get("labels") or {}
        seen = self._seen_by(name)
        known = self._views.get(name)
        if known is None or known.seen != seen or known.labels != labels:
            known = self._views[name] = _view(seen, node, labels)
        return known

    def changed_since(self, older: "Snapshot") -> Iterator[devices.PoolKey]:
        yield from self.by_key.changed_since(older.by_key)
        yield from older.by_key.changed_since(self.by_key)

    def nodes_of(self, keys: Iterable[devices.PoolKey]) -> Iterator[str | None]:
        """Yield the name of the node that alone sees each pool; None: several nodes may."""
        for key in keys:
            if key in self.by_key:
                yield self.by_key[key].node_name

    def pools_without(self, used: Iterable[str]) -> Iterator[devices.PoolKey]:
        for device in used:
            key = devices.pool_of(device)
            if (known := self.by_key.get(key)) and known.counters and device not in known.offered:
                yield key

    def _seen_by(self, node_name: str) -> tuple[pools.Pool, ...]:
        keys = self._local.get(node_name, frozenset()) | self._local.get("", frozenset())
        return tuple(self.by_key[key] for key in sorted(keys))


class Inventory(change_handlers.Changes):
    """The current ResourceSlices; an event handler of their informer."""

    def __init__(self) -> None:
        super().__init__(self._replace)
        self._guard = concurrency.lock("inventory")
        self._slices: dict[devices.PoolKey, dict[str, Object]] = {}
        self._pools: device_sets.PartedMap[devices.PoolKey, pools.Pool] = device_sets.PartedMap()
        self._local: device_sets.PartedMap[str, frozenset[devices.PoolKey]]
        self._local = device_sets.PartedMap()
        """Keys of the pools that one node sees, by its name; under "" those of several nodes."""
        self._views: dict[str, NodeView] = {}
        self._changed: set[devices.PoolKey] = set()
        self._snapshot: Snapshot | None = None

    def snapshot(self) -> Snapshot:
        """Return the current pools; the same object until a slice changes."""
        with self._guard:
            if self._snapshot is None:
                for key in self._changed:
                    self._rebuild(key)
                self._changed.clear()
                known = self._pools.copy()
                failures = PossibleFailures(known.values())
                self._snapshot = Snapshot(known, failures, self._local.copy(), self._views)
            return self._snapshot

    def _replace(self, old: Object | None, new: Object | None) -> None:
        with self._guard:
            self._snapshot = None
            for obj in filter(None, (old, new)):
                key = _pool_key(obj)
                self._changed.add(key)
                self._slices.setdefault(key, {}).pop(informers.key_of(obj), None)
            if new is not None:
                self._slices[_pool_key(new)][informers.key_of(new)] = new

    def _rebuild(self, key: devices.PoolKey) -> None:
        if known := self._pools.pop(key, None):
            place = known.node_name or ""
            self._local[place] -= {key}
            if not self._local[place]:
                del self._local[place]
        if slices := self._slices.get(key):
            made = self._pools[key] = pools.Pool(key, slices.values())
            place = made.node_name or ""
            self._local[place] = self._local.get(place, frozenset()) | {key}
        else:
            self._slices.pop(key, None)


def snapshot_of(slices: Iterable[Object]) -> Snapshot:
    """Return the snapshot of an inventory that has seen these slices."""
    inventory = Inventory()
    for piece in slices:
        inventory.on_add(piece, initial=True)
    return inventory.snapshot()


def _pool_key(obj: Object) -> devices.PoolKey:
    return obj["spec"]["driver"], obj["spec"]["pool"]["name"]


def _view(seen: tuple[pools.Pool, ...], node: Object, labels: Mapping[str, str]) -> NodeView:
    parts = [part for pool in seen if (part := pool.on_node(node)) is not None]
    ordered = tuple(sorted(parts, key=lambda part: part.comes_last))  # stable: by driver and name
    usable = tuple(device for part in ordered for device in part.devices)
    return NodeView(seen, dict(labels), ordered, usable)
