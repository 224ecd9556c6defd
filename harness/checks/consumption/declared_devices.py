"""Devices and counters as the ResourceSlices of a run declared them, in all their versions.

A scheduler may decide on an older version than the newest, so that every version up to a time
counts: the largest capacity, and the smallest consumption. Doubt never becomes a violation.
"""

import collections
import contextlib
import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import TypeAlias, TypeVar

import msgspec

from harness.checks import request_amounts
from harness.checks.observed import (
    claim_results,
    folders,
    observations,
    observed_slices,
)
from harness.model import devices, quantities

PoolKey: TypeAlias = tuple[str, str]
"""Driver and name of a pool."""
Counter: TypeAlias = tuple[str, str]
"""Counter set and name of a counter in it."""
Key = TypeVar("Key")
Following: TypeAlias = Mapping[str, Collection[Fraction]]
"""Name of a capacity -> the amounts that follow for it."""


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
    """Keyed by name without the domain of the driver."""
    consumes: dict[Counter, Amounts] = dataclasses.field(default_factory=dict)
    versions: list[tuple[int, observed_slices.Device]] = dataclasses.field(default_factory=list)
    """resourceVersion, and what the slice said then of a device that can be shared, without taints
    and attributes."""

    _following: dict[tuple[claim_results.Quantities, int], Following] = dataclasses.field(
        default_factory=dict
    )
    """Quantities asked for and a number of versions -> the answer of `following`."""

    def following(self, asked: claim_results.Quantities, rv: int) -> Following:
        """Return the amounts that a request may take of each capacity, by the versions up to one.

        Empty if the request is ambiguous. Raises QuantityError for a malformed quantity.
        """
        known = [device for version, device in self.versions if version <= rv]
        key = asked, len(known)
        if key not in self._following:
            self._following[key] = _following(known, self.pool[0], asked)
        return self._following[key]


def _following(
    known: Iterable[observed_slices.Device], driver: str, asked: claim_results.Quantities
) -> Following:
    found: dict[str, set[Fraction]] = collections.defaultdict(set)
    with contextlib.suppress(request_amounts.AmbiguousNamesError):
        for device in known:
            for name, taken in request_amounts.of_device(device, driver, dict(asked)).items():
                found[name] |= taken.amounts
    return found


class DeclaredDevices(folders.Folder):
    """All devices and counters that slices have declared so far."""

    def __init__(self) -> None:
        self.devices: dict[str, DeclaredDevice] = {}
        """Keyed by `driver/pool/device`."""
        self.counters: dict[PoolKey, dict[Counter, Amounts]] = collections.defaultdict(dict)

    def see_slice(self, seen: observations.SeenSlice) -> None:
        if seen.is_gone:
            return
        meta, spec, rv = seen.object.metadata, seen.object.spec, seen.version
        pool = spec.driver, spec.pool.name
        for declared in spec.shared_counters or ():
            for name, counter in declared.counters.items():
                _add(self.counters[pool], (declared.name, name), rv, counter)
        for item in spec.devices or ():
            device = str(devices.DeviceID(*pool, item.name))
            known = self.devices.setdefault(device, DeclaredDevice(pool, meta.name, meta.uid))
            _note_device(known, item, rv)

    def is_shareable(self, device: str) -> bool | None:
        """Return whether a slice ever allowed shares of a device; None: no slice has it."""
        known = self.devices.get(device)
        return None if known is None else known.is_shareable


def _note_device(known: DeclaredDevice, item: observed_slices.Device, rv: int) -> None:
    known.is_shareable |= bool(item.allow_multiple_allocations)
    if item.allow_multiple_allocations:
        bare = msgspec.structs.replace(item, taints=None, attributes=None)
        if not known.versions or known.versions[-1][1] != bare:
            known.versions.append((rv, bare))
    for name, value in request_amounts.by_plain_name(item.capacity or {}, known.pool[0]).items():
        _add(known.capacity, name, rv, value)
    for consumed in item.consumes_counters or ():
        for name, counter in consumed.counters.items():
            _add(known.consumes, (consumed.counter_set, name), rv, counter)


def _add(known: dict[Key, Amounts], key: Key, rv: int, value: observed_slices.Amount) -> None:
    known.setdefault(key, Amounts()).versions.append((rv, quantities.amount(value.value)))
