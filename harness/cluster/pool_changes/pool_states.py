"""The devices that a driver publishes in one pool, and how they are spread over slices."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from harness.cluster import slices
from harness.model import devices as device_ids
from harness.model.objects import Object

PoolKey = tuple[str, str]
"""Driver and name of a pool."""
Edit = Callable[[Object], Object | None]
"""Returns a device as it is published for a time; None: it is not."""
REPUBLISHED = "published"
"""Attribute that changes when a driver publishes the same devices again."""
_LABEL_MAX = 40
"""Characters of a pool's name in the name of a device, which has at most 63."""


class PoolState:
    """The devices of one pool; some may be published otherwise for a time."""

    def __init__(self, slices: Sequence[Object]) -> None:
        """Start from the slices of the pool's only generation, at least one."""
        known = sorted(slices, key=lambda piece: str(piece["metadata"]["name"]))
        spec = known[0]["spec"]
        self.key: PoolKey = spec["driver"], spec["pool"]["name"]
        self.generation = int(spec["pool"]["generation"])
        self.found = frozenset(str(piece["metadata"]["name"]) for piece in known)
        """Names of the slices that were there in the beginning."""
        self.is_published = True
        """False: all slices are deleted for a time."""
        self.split = 0
        """Least number of slices with devices; 0: as few as can be."""
        self.published = 0
        """How often the same devices were published again."""
        self._sections: list[tuple[Object, list[Object]]] = [
            (piece, list(piece["spec"]["devices"]))
            for piece in known
            if piece["spec"].get("devices")
        ]
        """Slices that were found, with their devices, which stay on the same nodes."""
        self._fixed = [piece for piece in known if not piece["spec"].get("devices")]
        """Slices without devices: shared counters."""
        self._edits: list[tuple[frozenset[str], Edit]] = []
        """Names of devices, and how they are published while a change lasts."""
        self._grown = 0
        """Number of devices that were added so far."""

    # ------------------------------------------------------------------- changes

    def names(self) -> list[str]:
        """Return the names of the devices that are not left out."""
        return [item["name"] for _, devices in self._sections for item in self._visible(devices)]

    def id_of(self, device: str) -> str:
        return str(device_ids.DeviceID(*self.key, device))

    def grow(self, count: int) -> list[str]:
        """Add devices like the last one, and return their names, which were never used before."""
        _, devices = self._sections[-1]
        pool = re.sub(r"[^a-z0-9-]", "-", self.key[1])[-_LABEL_MAX:].lstrip("-")
        like, added = devices[0], []
        for _ in range(count):
            self._grown += 1
            name = f"{pool}-added-{self._grown:03d}"
            devices.append({**like, "name": name})
            added.append(name)
        return added

    def edit(self, names: Iterable[str], how: Edit) -> Callable[[], None]:
        """Publish these devices as `how` returns them; return what ends that."""
        entry = frozenset(names), how
        self._edits.append(entry)
        return lambda: self._edits.remove(entry)

    # ------------------------------------------------------------------- slices

    def slices(self) -> list[Object]:
        """Return all slices of the current generation, without versions of the API server."""
        if not self.is_published:
            return []
        made = [*self._fixed, *self._parts()]
        return [
            slices.document(
                {key: part["metadata"].get(key) or {} for key in ("name", "labels")},
                part["spec"],
                self.key[1],
                generation=self.generation,
                count=len(made),
            )
            for part in made
        ]

    def _parts(self) -> Iterator[Object]:
        """Yield the slices with devices, as few as the limits and `split` allow."""
        least = -(-self.split // len(self._sections)) if self._sections else 0
        for found, devices in self._sections:
            meta, spec = found["metadata"], found["spec"]
            for number, part in enumerate(slices.parts([*self._visible(devices)], least)):
                name = f"{meta['name']}-{number}" if number else meta["name"]
                yield {"metadata": {**meta, "name": name}, "spec": {**spec, "devices": part}}

    def _visible(self, devices: Iterable[Object]) -> Iterator[Object]:
        for device in devices:
            item: Object | None = device
            for names, how in self._edits:
                item = how(item) if item is not None and item["name"] in names else item
            if item is not None and self.published:
                mark = {REPUBLISHED: {"int": self.published}}
                item = {**item, "attributes": {**item.get("attributes", {}), **mark}}
            if item is not None:
                yield item


def left_out(item: Object) -> None:
    del item


def unshared(item: Object) -> Object:
    """Return a device as one that cannot be shared, whose capacities can have no policy."""
    kept = {key: value for key, value in item.items() if key != "allowMultipleAllocations"}
    capacity = {name: {"value": entry["value"]} for name, entry in item.get("capacity", {}).items()}
    return {**kept, "capacity": capacity} if capacity else kept


def tainted(taint: Object) -> Edit:
    return lambda item: {**item, "taints": [*(item.get("taints") or ()), taint]}


def of_slices(slices: Iterable[Object]) -> dict[PoolKey, PoolState]:
    """Return the state of each pool of these slices, in the order of their names.

    A pool that is not complete, or has slices of several generations, is none that a driver keeps
    up to date: it stays as it is.
    """
    pools: dict[PoolKey, list[Object]] = {}
    for piece in slices:
        key = piece["spec"]["driver"], piece["spec"]["pool"]["name"]
        pools.setdefault(key, []).append(piece)
    return {key: PoolState(found) for key, found in sorted(pools.items()) if _is_whole(found)}


def _is_whole(slices: Sequence[Object]) -> bool:
    of_pool = [piece["spec"]["pool"] for piece in slices]
    generations = {pool["generation"] for pool in of_pool}
    return len(generations) == 1 and of_pool[0]["resourceSliceCount"] == len(slices)
