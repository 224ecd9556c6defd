"""Devices and counters as the ResourceSlices of a run declared them, in all their versions.

A scheduler may decide on an older version than the newest, so that every version up to a time
counts: the largest capacity, and the smallest consumption. Doubt never becomes a violation.
"""

import collections
import dataclasses
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, TypeAlias, TypeVar

import msgspec

from harness.checks.observed import folders, observations, observed_slices
from harness.model import devices, quantities

PoolKey: TypeAlias = tuple[str, str]
"""Driver and name of a pool."""
Counter: TypeAlias = tuple[str, str]
"""Counter set and name of a counter in it."""
Key = TypeVar("Key")


@dataclasses.dataclass(slots=True)
class Amounts:
    """An amount in the versions of a slice."""

    versions: list[tuple[int, Fraction]] = dataclasses.field(default_factory=list)
    """resourceVersion and amount."""

    def most(self, rv: int) -> Fraction | None:
        """Return the largest amount up to a version; None: there was none by then."""
        return max(self._until(rv), default=None)

    def least(self, rv: int) -> Fraction | None:
        """Return the smallest amount up to a version; None: there was none by then."""
        return min(self._until(rv), default=None)

    def _until(self, rv: int) -> Iterator[Fraction]:
        return (amount for version, amount in self.versions if version <= rv)


@dataclasses.dataclass(slots=True)
class DeclaredDevice:
    """A device in all versions of its slice."""

    pool: PoolKey
    slice_name: str
    slice_uid: str
    is_shareable: bool = False
    """A version allowed multiple allocations."""
    capacity: dict[str, Amounts] = dataclasses.field(default_factory=dict)
    """By name without the domain of the driver."""
    consumes: dict[Counter, Amounts] = dataclasses.field(default_factory=dict)


class DeclaredDevices(folders.Folder):
    """All devices and counters that slices have declared so far."""

    def __init__(self) -> None:
        self.devices: dict[str, DeclaredDevice] = {}
        """By `driver/pool/device`."""
        self.counters: dict[PoolKey, dict[Counter, Amounts]] = collections.defaultdict(dict)

    def see_slice(self, seen: observations.SeenSlice) -> None:
        """Note a version of a slice."""
        if not seen.is_gone:
            self._add(seen.object, seen.version)

    def note(self, piece: Mapping[str, Any]) -> None:
        """Note a version of a slice as the API server sends it, decoded."""
        self._add(
            msgspec.convert(piece, observed_slices.Slice), int(piece["metadata"]["resourceVersion"])
        )

    def is_shareable(self, device: str) -> bool | None:
        """Return whether a slice ever allowed shares of a device; None: no slice has it."""
        known = self.devices.get(device)
        return None if known is None else known.is_shareable

    def _add(self, piece: observed_slices.Slice, rv: int) -> None:
        spec = piece.spec
        pool = spec.driver, spec.pool.name
        for declared in spec.shared_counters or ():
            for name, counter in declared.counters.items():
                _add(self.counters[pool], (declared.name, name), rv, counter)
        for item in spec.devices or ():
            device = str(devices.DeviceID(*pool, item.name))
            known = self.devices.setdefault(
                device, DeclaredDevice(pool, piece.metadata.name, piece.metadata.uid)
            )
            _note_device(known, item, rv)


def _note_device(known: DeclaredDevice, item: observed_slices.Device, rv: int) -> None:
    known.is_shareable |= bool(item.allow_multiple_allocations)
    for name, value in (item.capacity or {}).items():
        _add(known.capacity, plain_name(name, known.pool[0]), rv, value)
    for consumed in item.consumes_counters or ():
        for name, counter in consumed.counters.items():
            _add(known.consumes, (consumed.counter_set, name), rv, counter)


def _add(known: dict[Key, Amounts], key: Key, rv: int, value: observed_slices.Amount) -> None:
    known.setdefault(key, Amounts()).versions.append((rv, quantities.amount(value.value)))


def plain_name(name: str, driver: str) -> str:
    """Return the name of a capacity without the domain of the driver."""
    return name.removeprefix(f"{driver}/")
