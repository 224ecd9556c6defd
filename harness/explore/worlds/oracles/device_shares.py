"""Judges shares, capacities and counters of devices.

An amount below zero counts as zero, so that it makes no room for others. A device that has left its
slices consumes what it did when they last had it.
"""

import collections
from collections.abc import Iterable, Iterator
from fractions import Fraction

from harness.explore.worlds.oracles import states
from harness.model import quantities
from harness.model.objects import Object

_ID = tuple[str, str, str]
"""Driver, pool and name."""


class DeviceShares(states.Oracle):
    """Watches claims and slices: what all allocations take together is there to be taken."""

    def __init__(self) -> None:
        self._known: dict[_ID, Object] = {}
        """Every device in its last version."""

    def on_seen(self, seen: states.Seen) -> None:
        specs = [item["spec"] for item in seen.known.slices.values()]
        if seen.plural == "resourceslices":
            self._known.update(_devices(specs))
        elif seen.is_claim:
            self.find(next(self._faults(specs, seen.known.claims.values()), None))

    def _faults(self, specs: list[Object], claims: Iterable[Object]) -> Iterator[str]:
        taken: dict[_ID, list[Object]] = collections.defaultdict(list)
        for claim in claims:
            for result in states.results(claim):
                if not result.get("adminAccess"):
                    taken[result["driver"], result["pool"], result["device"]].append(result)
        yield from _wrong_shares(taken)
        for place, device in _devices(specs):
            if device.get("allowMultipleAllocations"):
                yield from _exceeded(device, taken.get(place, []))
        yield from self._overdrawn(specs, taken)

    def _overdrawn(self, specs: list[Object], taken: Iterable[_ID]) -> Iterator[str]:
        used: dict[tuple[str, ...], Fraction] = collections.defaultdict(Fraction)
        for place in taken:
            for item in self._known.get(place, {}).get("consumesCounters") or ():
                for counter, consumed in item["counters"].items():
                    used[*place[:2], item["counterSet"], counter] += _amount(consumed["value"])
        for spec in specs:
            for item in spec.get("sharedCounters") or ():
                for counter, declared in item["counters"].items():
                    sum_used = used[spec["driver"], spec["pool"]["name"], item["name"], counter]
                    if sum_used > (total := _amount(declared["value"])):
                        yield f"counter {counter} of {item['name']}: {sum_used} of {total} are used"


def _devices(specs: Iterable[Object]) -> Iterator[tuple[_ID, Object]]:
    for spec in specs:
        for device in spec.get("devices") or ():
            yield (spec["driver"], spec["pool"]["name"], device["name"]), device


def _wrong_shares(taken: dict[_ID, list[Object]]) -> Iterator[str]:
    for (_, _, name), results in taken.items():
        shares = collections.Counter(item["shareID"] for item in results if "shareID" in item)
        for share, count in shares.items():
            if count > 1:
                yield f"share {share} of {name} is allocated {count} times"
        if shares and shares.total() < len(results):
            yield f"share: {name} is allocated whole, and shares of it"


def _exceeded(device: Object, taken: list[Object]) -> Iterator[str]:
    for name, declared in (device.get("capacity") or {}).items():
        used = sum(_amount((it.get("consumedCapacity") or {}).get(name, "0")) for it in taken)
        if used > quantities.amount(declared["value"]):
            yield f"capacity {name} of {device['name']}: {used} of {declared['value']} are used"


def _amount(text: str) -> Fraction:
    """Return a quantity; one below zero counts as zero."""
    return max(quantities.amount(text), Fraction(0))
