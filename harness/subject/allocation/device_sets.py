"""Sets of devices, and mappings, that are cheap to copy.

The scheduler copies what is allocated, and what slices offer, for each attempt. The entries are
spread over parts; a copy shares all parts, and the first change of a part copies that one. So an
attempt does not cost more when more devices are allocated.
"""

from collections.abc import Iterable, Iterator, MutableMapping, MutableSet
from typing import Any, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")
PARTS = 256
"""A power of two. With 50,000 devices a part has about 200."""
_MASK = PARTS - 1
_NOTHING: dict[Any, Any] = {}
"""The part of all maps that have nothing there; never changed."""


class PartedMap(MutableMapping[K, V], Generic[K, V]):
    """A mapping that is cheap to copy; its values must not change."""

    __slots__ = ("_count", "_own", "parts")

    def __init__(self, shared: "PartedMap[K, V] | None" = None) -> None:
        self.parts: list[dict[K, V]]
        self.parts = [_NOTHING] * PARTS if shared is None else shared.parts.copy()
        self._own: set[int] = set()
        """Indexes of the parts that no other map shares."""
        self._count = 0 if shared is None else len(shared)

    def copy(self) -> "PartedMap[K, V]":
        self._own = set()
        return PartedMap(self)

    def changed_since(self, older: "PartedMap[K, V]") -> Iterator[K]:
        for before, now in zip(older.parts, self.parts, strict=True):
            if before and before is not now:
                yield from (key for key, value in before.items() if now.get(key, self) is not value)

    def __contains__(self, device: object) -> bool:
        return device in self.parts[hash(device) & _MASK]

    def __getitem__(self, key: K) -> V:
        return self.parts[hash(key) & _MASK][key]

    def __setitem__(self, key: K, value: V) -> None:
        part = self._own_part(key)
        self._count += key not in part
        part[key] = value

    def __delitem__(self, key: K) -> None:
        if key not in self:
            raise KeyError(key)
        del self._own_part(key)[key]
        self._count -= 1

    def __iter__(self) -> Iterator[K]:
        for part in self.parts:
            yield from part

    def __len__(self) -> int:
        return self._count

    def _own_part(self, key: K) -> dict[K, V]:
        index = hash(key) & _MASK
        if index not in self._own:
            self._own.add(index)
            self.parts[index] = self.parts[index].copy()
        return self.parts[index]


class DeviceSet(MutableSet[str]):
    """A set of device IDs."""

    __slots__ = ("map", "parts")

    def __init__(self, devices: "Iterable[str] | PartedMap[str, None]" = ()) -> None:
        self.map = devices if isinstance(devices, PartedMap) else PartedMap[str, None]()
        self.parts = self.map.parts
        if not isinstance(devices, PartedMap):
            self |= set(devices)

    def copy(self) -> "DeviceSet":
        return DeviceSet(self.map.copy())

    def lost_since(self, older: "DeviceSet") -> Iterator[str]:
        return self.map.changed_since(older.map)

    def add(self, device: str) -> None:
        self.map[device] = None

    def discard(self, device: str) -> None:
        self.map.pop(device, None)

    def __contains__(self, device: object) -> bool:
        return device in self.parts[hash(device) & _MASK]

    def __iter__(self) -> Iterator[str]:
        return iter(self.map)

    def __len__(self) -> int:
        return len(self.map)
