"""Which devices of a pool have enough left in the counters that they consume.

Partitions of one device share its counters: as long as one of them is in use, another one can be
allocated only if the counters suffice for both. A device in use consumes its counters once, however
many claims share it.
"""

import collections
from collections.abc import Collection, Iterable, Iterator
from fractions import Fraction
from typing import TypeAlias

from harness.checks.observed import observed_slices
from harness.model import devices, quantities

CounterKey: TypeAlias = tuple[str, str]
"""Name of a counter set, and of a counter in it."""


def enough(
    current: Collection[observed_slices.SliceSpec], held: Collection[str]
) -> dict[str, bool | None]:
    """Return for each device that consumes counters whether they suffice for it.

    `current` are the slices of the newest generation of one pool, `held` the devices in use, as
    `driver/pool/device`. None: the slices do not declare its counters.
    """
    left, consumers = _left(current, held)
    return {name: _suffice(wanted, left) for name, wanted in consumers.items()}


def suffice(current: Collection[observed_slices.SliceSpec], held: Collection[str]) -> bool:
    """Return whether the counters of a pool suffice for these devices; see `enough`."""
    left, _ = _left(current, held)
    return all(amount >= 0 for amount in left.values())


def _left(
    current: Collection[observed_slices.SliceSpec], held: Collection[str]
) -> tuple[dict[CounterKey, Fraction], dict[str, dict[CounterKey, Fraction]]]:
    """Return what is left of the counters, and what each device of the pool consumes."""
    left = dict(_declared(current))
    consumers = dict(_consumers(current))
    for name in consumers.keys() & set(held):
        for key, amount in consumers[name].items():
            if key in left:
                left[key] -= amount
    return left, consumers


def _suffice(wanted: dict[CounterKey, Fraction], left: dict[CounterKey, Fraction]) -> bool | None:
    if any(key not in left for key in wanted):
        return None
    return all(left[key] >= amount for key, amount in wanted.items())


def _declared(
    current: Iterable[observed_slices.SliceSpec],
) -> Iterator[tuple[CounterKey, Fraction]]:
    for spec in current:
        for group in spec.shared_counters or ():
            for name, amount in group.counters.items():
                yield (group.name, name), quantities.amount(amount.value)


def _consumers(
    current: Iterable[observed_slices.SliceSpec],
) -> Iterator[tuple[str, dict[CounterKey, Fraction]]]:
    for spec in current:
        for device in spec.devices or ():
            if device.consumes_counters:
                name = devices.DeviceID(spec.driver, spec.pool.name, device.name)
                yield str(name), _wanted(device)


def _wanted(device: observed_slices.Device) -> dict[CounterKey, Fraction]:
    wanted: collections.defaultdict[CounterKey, Fraction] = collections.defaultdict(Fraction)
    for group in device.consumes_counters or ():
        for name, amount in group.counters.items():
            wanted[group.counter_set, name] += quantities.amount(amount.value)
    return dict(wanted)
