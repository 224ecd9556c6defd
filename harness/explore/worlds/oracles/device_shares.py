"""Judges shares, capacities and counters of devices.

An amount below zero counts as zero, so that it makes no room for others. A device that has left its
slices consumes what it did when they last had it.
"""

import collections
from collections.abc import Iterator
from fractions import Fraction

import msgspec

from harness.apiserver.storage import watch_cache
from harness.model import quantities
from harness.model.objects import Object

Device = tuple[str, str, str]
"""Driver, pool and name."""


class DeviceShares:
    """Watches claims and slices: what all allocations take together is there to be taken."""

    def __init__(self) -> None:
        self._slices: dict[str, Object] = {}
        self._known: dict[Device, Object] = {}
        """Every device in its last version."""
        self._results: dict[str, list[Object]] = {}
        self.finding: str | None = None
        """Description of the first violation; None if there is none."""

    def on_commit(self, commit: watch_cache.Commit) -> None:
        name, is_gone = commit.object.name, commit.type == "DELETED"
        if commit.resource.plural == "resourceslices":
            document = msgspec.json.decode(commit.object.data)
            self._slices = {**self._slices, name: document["spec"]}
            if is_gone:
                del self._slices[name]
            self._known.update(self._devices())
        elif commit.resource.plural == "resourceclaims":
            self._results[name] = [] if is_gone else _results(commit.object.data)
            self.finding = self.finding or next(self._faults(), None)

    def _faults(self) -> Iterator[str]:
        taken = [result for results in self._results.values() for result in results]
        yield from self._wrong_shares(taken)
        yield from self._exceeded_capacities(taken)
        yield from self._exceeded_counters(taken)

    def _devices(self) -> Iterator[tuple[Device, Object]]:
        for spec in self._slices.values():
            for device in spec.get("devices") or ():
                yield (spec["driver"], spec["pool"]["name"], device["name"]), device

    def _wrong_shares(self, taken: list[Object]) -> Iterator[str]:
        shares = collections.Counter(
            (*_device_of(result), result["shareID"]) for result in taken if "shareID" in result
        )
        for (_, _, name, share), count in shares.items():
            if count > 1:
                yield f"share {share} of {name} is allocated {count} times"
        whole = {_device_of(result) for result in taken if "shareID" not in result}
        for device in whole.intersection(key[:3] for key in shares):
            yield f"share: {device[2]} is allocated whole, and shares of it"

    def _exceeded_capacities(self, taken: list[Object]) -> Iterator[str]:
        for key, device in self._devices():
            if not device.get("allowMultipleAllocations"):
                continue
            for capacity, declared in (device.get("capacity") or {}).items():
                used = sum(
                    _amount((result.get("consumedCapacity") or {}).get(capacity, "0"))
                    for result in taken
                    if _device_of(result) == key
                )
                if used > quantities.amount(declared["value"]):
                    yield f"capacity {capacity} of {key[2]}: {used} of {declared['value']} are used"

    def _exceeded_counters(self, taken: list[Object]) -> Iterator[str]:
        used: dict[tuple[str, ...], Fraction] = collections.defaultdict(Fraction)
        for key in {_device_of(result) for result in taken}:
            for item in self._known.get(key, {}).get("consumesCounters") or ():
                for counter, amount in item["counters"].items():
                    used[*key[:2], item["counterSet"], counter] += _amount(amount["value"])
        for place, declared in self._counters():
            if used[place] > declared:
                yield f"counter {place[3]} of {place[2]}: {used[place]} of {declared} are used"

    def _counters(self) -> Iterator[tuple[tuple[str, ...], Fraction]]:
        for spec in self._slices.values():
            for item in spec.get("sharedCounters") or ():
                for counter, amount in item["counters"].items():
                    place = (spec["driver"], spec["pool"]["name"], item["name"], counter)
                    yield place, quantities.amount(amount["value"])


def _results(claim: bytes) -> list[Object]:
    allocation = msgspec.json.decode(claim).get("status", {}).get("allocation") or {}
    results: list[Object] = allocation.get("devices", {}).get("results") or []
    return [result for result in results if not result.get("adminAccess")]


def _amount(text: str) -> Fraction:
    return max(quantities.amount(text), Fraction(0))


def _device_of(result: Object) -> Device:
    return result["driver"], result["pool"], result["device"]
