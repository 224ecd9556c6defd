"""The devices that a driver publishes in one pool, and how they are spread over slices."""

import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence

from harness.cluster import slices
from harness.model import devices as device_ids
from harness.model.objects import Object

PoolKey = tuple[str, str]
"""Driver and name of a pool."""
REPUBLISHED = "published"
"""Attribute that changes when a driver publishes the same devices again."""
_LABEL_MAX = 40
"""Characters of a pool's name in the name of a device, which has at most 63."""


@dataclasses.dataclass(slots=True)
class _Section:
    """The devices of one slice of the first generation; they stay on the same nodes."""

    document: Object
    """The slice that was found."""
    devices: list[Object]


class PoolState:
    """The devices of one pool; some may be left out, not shared or tainted for a time."""

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
        self._sections = [
            _Section(piece, list(piece["spec"]["devices"]))
            for piece in known
            if piece["spec"].get("devices")
        ]
        self._fixed = [piece for piece in known if not piece["spec"].get("devices")]
        """Slices without devices: shared counters."""
        self._left_out: set[str] = set()
        self._alone: set[str] = set()
        """Devices that cannot be shared for a time."""
        self._taints: dict[str, list[Object]] = {}
        self._grown = 0
        """Number of devices that were added so far."""

    # ------------------------------------------------------------------- changes

    def names(self) -> list[str]:
        """Return the names of the devices that are not left out."""
        every = (item["name"] for section in self._sections for item in section.devices)
        return [name for name in every if name not in self._left_out]

    def id_of(self, device: str) -> str:
        return str(device_ids.DeviceID(*self.key, device))

    def grow(self, count: int) -> list[str]:
        """Add devices like the last one, and return their names, which were never used before."""
        section = self._sections[-1]
        like, added = section.devices[0], []
        for _ in range(count):
            self._grown += 1
            name = f"{_label(self.key[1])}-added-{self._grown:03d}"
            section.devices.append({**like, "name": name})
            added.append(name)
        return added

    def leave_out(self, names: Iterable[str]) -> None:
        """Publish these devices no longer."""
        self._left_out.update(names)

    def take_in(self, names: Iterable[str]) -> None:
        """Publish these devices again."""
        self._left_out.difference_update(names)

    def unshare(self, names: Iterable[str]) -> None:
        """Publish these devices as such that cannot be shared."""
        self._alone.update(names)

    def share(self, names: Iterable[str]) -> None:
        """Publish these devices as they were, after `unshare`."""
        self._alone.difference_update(names)

    def taint(self, names: Iterable[str], taint: Object) -> None:
        """Add a taint to devices."""
        for name in names:
            self._taints.setdefault(name, []).append(taint)

    def untaint(self, names: Iterable[str], taint: Object) -> None:
        """Remove a taint that was added to devices."""
        for name in names:
            self._taints[name].remove(taint)

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
        for section in self._sections:
            name = section.document["metadata"]["name"]
            for number, part in enumerate(slices.parts([*self._visible(section)], least)):
                meta = {**section.document["metadata"], "name": f"{name}-{number}"}
                if not number:
                    meta = section.document["metadata"]
                yield {"metadata": meta, "spec": {**section.document["spec"], "devices": part}}

    def _visible(self, section: _Section) -> Iterator[Object]:
        for item in section.devices:
            if item["name"] not in self._left_out:
                yield self._current(item)

    def _current(self, item: Object) -> Object:
        """Return a device with its taints, and with the mark of a repeated publication."""
        if self.published:
            marked = {**item.get("attributes", {}), REPUBLISHED: {"int": self.published}}
            item = {**item, "attributes": marked}
        if item["name"] in self._alone:
            item = _unshared(item)
        added = self._taints.get(item["name"])
        return {**item, "taints": [*(item.get("taints") or ()), *added]} if added else item


def _unshared(item: Object) -> Object:
    """Return a device as one that cannot be shared, whose capacities can have no policy."""
    kept = {key: value for key, value in item.items() if key != "allowMultipleAllocations"}
    capacity = {name: {"value": entry["value"]} for name, entry in item.get("capacity", {}).items()}
    return {**kept, "capacity": capacity} if capacity else kept


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


def _label(text: str) -> str:
    """Return the name of a pool as a part of a device's name."""
    return re.sub(r"[^a-z0-9-]", "-", text)[-_LABEL_MAX:].lstrip("-")
