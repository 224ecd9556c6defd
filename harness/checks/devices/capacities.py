"""The capacities and counters that slices declare, and the amounts that requests take of them.

The API says (resource.k8s.io/v1): "If this field is unset and the device supports multiple
allocations, the default value will be applied to each capacity according to requestPolicy. For the
capacity that has no requestPolicy, default is the full capacity value"
(ExactDeviceRequest.capacity), and that a requested amount is "adjusted upward to the nearest valid
value based on the policy" (CapacityRequirements.requests).

A scheduler may decide on an older version of a slice than the newest, so that every version up to a
time counts: the largest capacity, and the smallest consumption. Doubt never becomes a violation.
"""

import collections
import contextlib
import dataclasses
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import TypeAlias, TypeVar

import msgspec

from harness.checks.observed import claim_results, folders, observations, observed_slices
from harness.model import devices, quantities

Value = TypeVar("Value")


class Taken(msgspec.Struct, frozen=True):
    """The amount that a request takes of a capacity."""

    amounts: frozenset[Fraction]
    """One amount, or none that the policy allows as it is."""
    refusal: str = ""
    """Why the device must not be allocated for the request; empty: nothing is against it."""


class AmbiguousNamesError(ValueError):
    """A request names one capacity both with and without the domain of the driver."""


def of_device(
    device: observed_slices.Device, driver: str, asked: Mapping[str, str]
) -> dict[str, Taken]:
    """Return what a request takes of each capacity of a device.

    Names are without the domain of the driver. `asked` are the quantities of the request. Raises
    AmbiguousNamesError, or QuantityError for a malformed quantity.
    """
    plainly = {plain_name(name, driver): text for name, text in asked.items()}
    if len(plainly) < len(asked):
        raise AmbiguousNamesError("a request names a capacity with and without its driver")
    return {
        name: _taken(entry, plainly.get(name))
        for name, entry in by_plain_name(device.capacity or {}, driver).items()
    }


def is_enough(device: observed_slices.Device, driver: str, asked: Mapping[str, str]) -> bool:
    """Return whether a device that is not in use has what a request takes.

    Raises as `of_device` does.
    """
    takes = of_device(device, driver, asked)
    is_refused = any(taken.refusal for taken in takes.values())
    return by_plain_name(asked, driver).keys() <= takes.keys() and not is_refused


def by_plain_name(named: Mapping[str, Value], driver: str) -> dict[str, Value]:
    """Return capacities by their names without the domain of the driver.

    Of two of one name, that with the domain counts, as for attributes.
    """
    ordered = sorted(named.items(), key=lambda item: item[0].startswith(f"{driver}/"))
    return {plain_name(name, driver): value for name, value in ordered}


def plain_name(name: str, driver: str) -> str:
    return name.removeprefix(f"{driver}/")


def _taken(capacity: observed_slices.Amount, asked: str | None) -> Taken:
    wanted = None if asked is None else quantities.amount(asked)
    policy = capacity.request_policy or observed_slices.RequestPolicy()
    problems = {
        amount: _problem(amount, capacity, policy) for amount in _amounts(capacity, policy, wanted)
    }
    possible = frozenset(amount for amount, problem in problems.items() if not problem)
    if possible:
        return Taken(possible)
    return Taken(frozenset(problems), next(iter(problems.values())))


def _amounts(
    capacity: observed_slices.Amount,
    policy: observed_slices.RequestPolicy,
    wanted: Fraction | None,
) -> Iterator[Fraction]:
    """Yield the amounts that the request may take; one that the policy refuses as it is."""
    if wanted is None:
        yield quantities.amount(capacity.value if policy.default is None else policy.default)
    elif policy.valid_range is not None:
        yield from _in_range(policy.valid_range, wanted)
    else:
        enough = [value for value in _values(policy) if value >= wanted]
        yield min(enough, default=wanted)


def _in_range(valid: observed_slices.ValidRange, wanted: Fraction) -> Iterator[Fraction]:
    """Yield the next amount of a range: its minimum, or a number of steps above it.

    It is exact. Releases that do not know fractions in ranges count with integers, and take too
    much (kubernetes#140160).
    """
    least = quantities.amount(valid.min or "0")
    step = quantities.amount(valid.step or "0")
    if wanted <= least:
        yield least
    elif step <= 0:
        yield wanted
    else:
        yield least + math.ceil((wanted - least) / step) * step


def _problem(
    amount: Fraction, capacity: observed_slices.Amount, policy: observed_slices.RequestPolicy
) -> str:
    if amount < 0:
        return f"takes {quantities.text(amount)}, which is less than nothing"
    if amount > quantities.amount(capacity.value):
        return f"takes {quantities.text(amount)}, of {capacity.value} that there are"
    if policy.default is not None and amount == quantities.amount(policy.default):
        return ""
    most = policy.valid_range.max if policy.valid_range else None
    values = list(_values(policy))
    if (most and amount > quantities.amount(most)) or (values and amount not in values):
        return f"takes {quantities.text(amount)}, which its request policy does not allow"
    return ""


def _values(policy: observed_slices.RequestPolicy) -> Iterable[Fraction]:
    """Return the valid values; a range comes before them."""
    texts = () if policy.valid_range else policy.valid_values or ()
    return map(quantities.amount, texts)


# ------------------------------------------------------------------- what slices declare
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
    with contextlib.suppress(AmbiguousNamesError):
        for device in known:
            for name, taken in of_device(device, driver, dict(asked)).items():
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
    for name, value in by_plain_name(item.capacity or {}, known.pool[0]).items():
        _add(known.capacity, name, rv, value)
    for consumed in item.consumes_counters or ():
        for name, counter in consumed.counters.items():
            _add(known.consumes, (consumed.counter_set, name), rv, counter)


def _add(known: dict[Key, Amounts], key: Key, rv: int, value: observed_slices.Amount) -> None:
    known.setdefault(key, Amounts()).versions.append((rv, quantities.amount(value.value)))
