"""When each device could be allocated, by the versions of the slices of its pool.

A device can be allocated while the newest generation of its pool that its nodes see is complete and
valid, and lists it. Slices for other nodes do not count for its generation, as in
k8s.io/dynamic-resource-allocation/structured; the number of slices counts on all nodes.
"""

import bisect
import collections
import dataclasses
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from harness.checks.devices import device_catalogue
from harness.checks.observed import folders, observations, observed_slices
from harness.checks.taints import taint_timelines
from harness.history import records

Slices = Mapping[str, observed_slices.SliceSpec]
"""The slices of a pool by uid, as they are at one version."""


@dataclasses.dataclass(slots=True)
class _Changes:
    """The versions of the slices of a pool, in the order in which they were observed."""

    listed: list[int] = dataclasses.field(default_factory=list)
    """Those in the first list."""
    watched: list[int] = dataclasses.field(default_factory=list)
    """That came, changed or went after it."""

    def is_steady(self, since: int, until: int) -> bool:
        """Return whether the pool did not change between two versions; 0: since the first list."""
        versions = [*self.watched, *(self.listed if since else ())]
        return not any(since < version < until for version in versions)


class PoolTimelines(folders.Folder):
    """The spans in which devices could be allocated, folded from all versions of all slices."""

    def __init__(self) -> None:
        self.listed_since: dict[str, int] = {}
        """`driver/pool/device` -> the first version of a slice that lists it."""
        self.has_gap = False
        """Versions of slices may be missing."""
        self.tainted_since: dict[str, int] = {}
        """`driver/pool/device` -> the first version of a slice that taints it."""
        self._versions: list[int] = []
        """All versions of all slices, in order."""
        self._changes: dict[str, _Changes] = collections.defaultdict(_Changes)
        """Keyed by `driver/pool`."""
        self._slices: dict[str, dict[str, observed_slices.SliceSpec]] = collections.defaultdict(
            dict
        )
        """`driver/pool` -> uid of a slice -> its newest version."""
        self._listings = taint_timelines.Listings[str]()
        """The devices that can be allocated, by `driver/pool`."""

    def see_slice(self, seen: observations.SeenSlice) -> None:
        spec, uid = seen.object.spec, seen.object.metadata.uid
        pool = f"{spec.driver}/{spec.pool.name}"
        slices = self._slices[pool]
        slices.pop(uid, None)
        if not seen.is_gone:
            slices[uid] = spec
            for device in spec.devices or ():
                name = f"{pool}/{device.name}"
                self.listed_since.setdefault(name, seen.version)
                if device.taints:
                    self.tainted_since.setdefault(name, seen.version)
        changes = self._changes[pool]
        (changes.listed if seen.type == "LISTED" else changes.watched).append(seen.version)
        bisect.insort(self._versions, seen.version)
        self._listings.see(pool, {f"{pool}/{name}" for name in allocatable(slices)}, seen)

    def see_gap(self, gap: records.Gap) -> None:
        self.has_gap |= gap.resource == observations.SLICES

    def spans(self, device: str) -> list[taint_timelines.Span]:
        """Return when a device (`driver/pool/device`) could be allocated, in order."""
        return self._listings.of(device)

    def epoch(self, version: int) -> int:
        """Return how many versions of slices there are before this one, in all pools."""
        return bisect.bisect_left(self._versions, version)

    def steady(self, since: int, until: int) -> Iterator[str]:
        """Yield the devices that could be allocated before the version `until`, of the pools that
        did not change after the version `since`; 0: since the first list.
        """
        steady = {pool for pool, item in self._changes.items() if item.is_steady(since, until)}
        for device, spans in self._listings:
            if device.rpartition("/")[0] in steady and any(
                span.since < until <= span.until for span in spans
            ):
                yield device


def allocatable(slices: Slices) -> Iterator[str]:
    """Yield the names of the devices of a pool that can be allocated on the nodes they are on."""
    for spec in slices.values():
        by_place: dict[bytes, list[str]] = collections.defaultdict(list)
        places: dict[bytes, device_catalogue.Place] = {}
        for device, place in device_catalogue.placed(spec):
            key = msgspec.json.encode(place)
            by_place[key].append(device.name)
            places[key] = place
        for key, names in by_place.items():
            seen = [other for other in slices.values() if _is_seen(other, places[key])]
            if _is_usable(spec, seen, slices.values()):
                yield from names


def _is_seen(spec: observed_slices.SliceSpec, place: device_catalogue.Place) -> bool:
    if spec.shared_counters:
        return True
    return any(other == place or other.all_nodes for _, other in device_catalogue.placed(spec))


def _is_usable(
    spec: observed_slices.SliceSpec,
    seen: Iterable[observed_slices.SliceSpec],
    known: Iterable[observed_slices.SliceSpec],
) -> bool:
    """Return whether a slice is of the newest generation seen, which is complete and valid."""
    seen = list(seen)
    generation = spec.pool.generation
    if any(other.pool.generation > generation for other in seen):
        return False
    same = [other for other in known if other.pool.generation == generation]
    if len(same) not in {other.pool.resource_slice_count for other in same}:
        return False
    return is_valid([other for other in seen if other.pool.generation == generation])


def is_valid(slices: Iterable[observed_slices.SliceSpec]) -> bool:
    """Return whether names of devices and of counter sets are unique, and all counters declared."""
    slices = list(slices)
    devices = [device for spec in slices for device in spec.devices or ()]
    sets = [counters for spec in slices for counters in spec.shared_counters or ()]
    is_unique = all(len(items) == len({item.name for item in items}) for items in (devices, sets))
    declared = {(group.name, name) for group in sets for name in group.counters}
    return is_unique and declared.issuperset(
        (group.counter_set, name)
        for device in devices
        for group in device.consumes_counters or ()
        for name in group.counters
    )
