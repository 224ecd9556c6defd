"""Judges shares, capacities and counters of devices.

An amount below zero counts as zero, so that it makes no room for others. A device that has left its
slices consumes what it did when they last had it.
"""

import collections
from collections.abc import Iterable, Iterator

from harness.explore.worlds.oracles import offered_devices, states
from harness.model import quantities
from harness.model.objects import Object


class DeviceShares:
    """Watches claims and slices: what all allocations take together is there to be taken."""

    def __init__(self) -> None:
        self._known: dict[offered_devices.ID, offered_devices.Offer] = {}
        """Every device in its last version."""
        self.finding: str | None = None
        """Description of the first violation; None if there is none."""

    def on_seen(self, seen: states.Seen) -> None:
        specs = [item["spec"] for item in seen.known.slices.values()]
        if seen.plural == "resourceslices":
            self._known.update({offer.id: offer for offer in offered_devices.offers(specs)})
        elif seen.is_claim:
            self.finding = self.finding or next(
                self._faults(specs, seen.known.claims.values()), None
            )

    def _faults(self, specs: list[Object], claims: Iterable[Object]) -> Iterator[str]:
        by_device = collections.defaultdict(list)
        for claim in claims:
            allocation = claim.get("status", {}).get("allocation") or {}
            for result in allocation.get("devices", {}).get("results") or ():
                if not result.get("adminAccess"):
                    by_device[offered_devices.id_of(result)].append(result)
        yield from _wrong_shares(by_device)
        for offer in offered_devices.offers(specs):
            if offer.is_shared:
                yield from _exceeded(offer, by_device[offer.id])
        known = [self._known[it] for it in by_device if by_device[it] and it in self._known]
        used = offered_devices.used_counters(known)
        for place, declared in offered_devices.counters(specs).items():
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
