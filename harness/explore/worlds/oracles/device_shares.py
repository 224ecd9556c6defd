"""Judges shares, capacities and counters of devices.

An amount below zero counts as zero, so that it makes no room for others. A device that has left its
slices consumes what it did when they last had it.
"""

import collections
from collections.abc import Iterator

import msgspec

from harness.apiserver.storage import watch_cache
from harness.explore.worlds.oracles import offered_devices
from harness.model import quantities
from harness.model.objects import Object


class DeviceShares:
    """Watches claims and slices: what all allocations take together is there to be taken."""

    def __init__(self) -> None:
        self._slices: dict[str, Object] = {}
        self._known: dict[offered_devices.ID, offered_devices.Offer] = {}
        """Every device in its last version."""
        self._results: dict[str, list[Object]] = {}
        self.finding: str | None = None
        """Description of the first violation; None if there is none."""

    def on_commit(self, commit: watch_cache.Commit) -> None:
        name, is_gone = commit.object.name, commit.type == "DELETED"
        if commit.resource.plural == "resourceslices":
            self._slices.pop(name, None)
            if not is_gone:
                self._slices[name] = msgspec.json.decode(commit.object.data)["spec"]
            self._known.update({offer.id: offer for offer in self._offers()})
        elif commit.resource.plural == "resourceclaims":
            self._results[name] = [] if is_gone else _results(commit.object.data)
            self.finding = self.finding or next(self._faults(), None)

    def _offers(self) -> Iterator[offered_devices.Offer]:
        return offered_devices.offers(self._slices.values())

    def _faults(self) -> Iterator[str]:
        taken = [result for results in self._results.values() for result in results]
        by_device = collections.defaultdict(list)
        for result in taken:
            by_device[offered_devices.id_of(result)].append(result)
        yield from _wrong_shares(by_device)
        for offer in self._offers():
            if offer.is_shared:
                yield from _exceeded(offer, by_device[offer.id])
        known = [self._known[it] for it in by_device if by_device[it] and it in self._known]
        used = offered_devices.used_counters(known)
        for place, declared in offered_devices.counters(self._slices.values()).items():
            if used[place] > declared:
                yield f"counter {place[3]} of {place[2]}: {used[place]} of {declared} are used"


def _wrong_shares(taken: dict[offered_devices.ID, list[Object]]) -> Iterator[str]:
    for (_, _, name), results in taken.items():
        shares = collections.Counter(item["shareID"] for item in results if "shareID" in item)
        for share, count in shares.items():
            if count > 1:
                yield f"share {share} of {name} is allocated {count} times"
        if shares and shares.total() < len(results):
            yield f"share: {name} is allocated whole, and shares of it"


def _exceeded(offer: offered_devices.Offer, taken: list[Object]) -> Iterator[str]:
    for capacity, declared in (offer.device.get("capacity") or {}).items():
        used = sum(
            offered_devices.amount((result.get("consumedCapacity") or {}).get(capacity, "0"))
            for result in taken
        )
        if used > quantities.amount(declared["value"]):
            yield f"capacity {capacity} of {offer.id[2]}: {used} of {declared['value']} are used"


def _results(claim: bytes) -> list[Object]:
    allocation = msgspec.json.decode(claim).get("status", {}).get("allocation") or {}
    results: list[Object] = allocation.get("devices", {}).get("results") or []
    return [result for result in results if not result.get("adminAccess")]
