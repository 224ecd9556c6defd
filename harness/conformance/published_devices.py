"""Devices that a driver has published for a node, as a scheduler sees them."""

import dataclasses
import fractions
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness.model import quantities
from harness.model.objects import Object

SHARES_MAX = 8
"""Claims at most that share one device here, if it has no capacity that limits them."""
_Amounts = dict[tuple[str, str, str], fractions.Fraction]
"""Pool, counter set, counter -> amount."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device of the newest generation of its pool."""

    pool: str
    name: str
    is_shared: bool = False
    """Several claims may have it at a time."""
    capacity: Mapping[str, str] = dataclasses.field(default_factory=dict, compare=False)
    """Capacity -> all that there is of it; empty unless it is shared."""
    share: Mapping[str, str] = dataclasses.field(default_factory=dict, compare=False)
    """Capacity -> what a claim of the test asks for; empty unless it is shared."""
    allocation: Mapping[str, Any] = dataclasses.field(default_factory=dict, compare=False)
    """The allocation of --claim that has it first; empty: the test makes one up."""

    @property
    def places(self) -> int:
        """The number of claims that can have it at a time."""
        if self.allocation or not self.is_shared:
            return 1
        amount = quantities.amount
        parts = [(amount(self.capacity[name]), amount(part)) for name, part in self.share.items()]
        return max(1, min([SHARES_MAX, *(int(every // part) for every, part in parts if part)]))


def of_driver(slices: Iterable[Object], driver: str, node: str) -> list[Device]:
    """Return the devices of a driver that pods on a node can have at the same time.

    These are as many as fit beside each other, in their order, without tainted ones.
    """
    items = newest(slices)
    left: _Amounts = {}
    for item in items:
        for counters in item["spec"].get("sharedCounters") or ():
            left |= _amounts(item, counters["name"], counters["counters"])
    found = []
    for item in items:
        spec = item["spec"]
        is_here = spec["driver"] == driver and spec.get("nodeName") in (None, node)
        for device in (spec.get("devices") or ()) if is_here else ():
            consumed: _Amounts = {}
            for entry in device.get("consumesCounters") or ():
                consumed |= _amounts(item, entry["counterSet"], entry["counters"])
            fits = all(left.get(key, 0) >= amount for key, amount in consumed.items())
            if fits and not device.get("taints"):
                found.append(_device(spec["pool"]["name"], device))
                left |= {key: left[key] - amount for key, amount in consumed.items()}
    return found


def side_by_side(devices: Sequence[Device], count: int) -> list[Device]:
    """Return a device for each of up to `count` claims: each one, then further shares of them."""
    rounds = range(max((device.places for device in devices), default=0))
    return [device for number in rounds for device in devices if number < device.places][:count]


def newest(slices: Iterable[Object]) -> list[Object]:
    """Return the slices of the newest generation of each pool."""
    items = list(slices)
    last: dict[tuple[str, str], int] = {}
    for item in items:
        last[pool(item)] = max(last.get(pool(item), 0), generation(item))
    return [item for item in items if generation(item) == last[pool(item)]]


def pool(item: Object) -> tuple[str, str]:
    """Return driver and name of the pool of a slice."""
    return item["spec"]["driver"], item["spec"]["pool"]["name"]


def generation(item: Object) -> int:
    """Return the generation of the pool that a slice belongs to."""
    return int(item["spec"]["pool"].get("generation") or 0)


def _amounts(item: Object, counter_set: str, counters: Mapping[str, Any]) -> _Amounts:
    return {
        (item["spec"]["pool"]["name"], counter_set, name): quantities.amount(str(counter["value"]))
        for name, counter in counters.items()
    }


def _device(pool_name: str, device: Mapping[str, Any]) -> Device:
    if not device.get("allowMultipleAllocations"):
        return Device(pool=pool_name, name=device["name"])
    capacity = device.get("capacity") or {}
    return Device(
        pool=pool_name,
        name=device["name"],
        is_shared=True,
        capacity={name: str(entry["value"]) for name, entry in capacity.items()},
        share={name: _least(entry) for name, entry in capacity.items()},
    )


def _least(entry: Mapping[str, Any]) -> str:
    """Return the least of a capacity that can be asked for; an eighth, whole, if there is none."""
    policy = entry.get("requestPolicy") or {}
    least = [*(policy.get("validValues") or ()), (policy.get("validRange") or {}).get("min")]
    known = [str(item) for item in (*least, policy.get("default")) if item]
    if known := [item for item in known if quantities.amount(item) > 0]:
        return min(known, key=quantities.amount)
    every = quantities.amount(str(entry["value"]))
    if every < 1:
        return str(entry["value"])
    return quantities.text(fractions.Fraction(every // SHARES_MAX or 1))
