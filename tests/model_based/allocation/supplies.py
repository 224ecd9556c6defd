"""Reads what one node can use of the slices: devices in order, counters, pools with a fault.

Read from the API objects, apart from the scheduler's code. Only slices that the node sees count;
of these those of the newest generation. A pool of which slices are missing, on whatever nodes, is
incomplete; it is invalid if names are doubled on the node, or if a counter is unknown.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from harness.model import quantities

Object = dict[str, Any]
Counter = tuple[str, str, str]
"""Pool as `driver/pool`, counter set, counter."""


@dataclasses.dataclass(frozen=True)
class Device:
    """A device that a slice offers."""

    id: str
    """`driver/pool/device`"""
    driver: str
    item: Object
    place: Object
    """Where it is: `nodeName`, `nodeSelector` or `allNodes`."""

    @property
    def pool(self) -> str:
        return self.id.rpartition("/")[0]

    @property
    def is_shared(self) -> bool:
        return bool(self.item.get("allowMultipleAllocations"))

    def consumed(self) -> Iterator[tuple[Counter, Fraction]]:
        for entry in self.item.get("consumesCounters", ()):
            for name, counter in entry["counters"].items():
                yield (self.pool, entry["counterSet"], name), quantities.amount(counter["value"])

    def values(self, attribute: str) -> set[tuple[str, Any]] | None:
        """Return the values of a qualified attribute with their types; None: it is missing."""
        domain, _, name = attribute.partition("/")
        found = self.item["attributes"].get(attribute)
        if found is None and domain == self.driver:
            found = self.item["attributes"].get(name)
        if found is None:
            return None
        ((kind, content),) = found.items()
        listed = content if isinstance(content, list) else [content]
        return {(kind.rstrip("s"), value) for value in listed}


class Supply:
    """The devices and counters that one node can use."""

    def __init__(self, slices: Sequence[Object], node: Object) -> None:
        self.node = node
        self.devices: list[Device] = []
        """Those that the node can use, in the order in which they are tried."""
        self.everywhere: list[Device] = []
        """All devices of these pools, on whatever nodes; a name may be there for several nodes."""
        self.counters: dict[Counter, Fraction] = {}
        """The declared counters."""
        self.has_faults = False
        """A pool that the node sees is incomplete or invalid."""
        last: list[Device] = []
        for key, pieces in sorted(_by_pool(slices).items()):
            usable, waits = self._read(key, pieces)
            (last if waits else self.devices).extend(usable)
        self.devices += last

    def _read(self, key: tuple[str, str], pieces: list[Object]) -> tuple[list[Device], bool]:
        """Return the usable devices of a pool, and whether it comes after the others."""
        seen = [piece for piece in pieces if self._sees(piece)]
        generation = max((_generation(piece) for piece in seen), default=None)
        if generation is None:
            return [], False
        seen = [piece for piece in seen if _generation(piece) == generation]
        expected = seen[0]["pool"]["resourceSliceCount"]
        known = seen
        if len(seen) != expected:
            if any(_generation(piece) > generation for piece in pieces):
                return [], False
            known = [piece for piece in pieces if _generation(piece) == generation]
        return self._of_generation("/".join(key), seen, known, expected)

    def _of_generation(
        self, key: str, seen: list[Object], known: list[Object], expected: int
    ) -> tuple[list[Device], bool]:
        counters = _counters(key, known)
        listed = [list(_devices(key, spec)) for spec in seen]
        everywhere = [device for spec in known for device in _devices(key, spec)]
        names = [device.id for part in listed for device in part]
        consumed = {counter for device in everywhere for counter, _ in device.consumed()}
        if len(known) != expected or len(set(names)) < len(names) or consumed - counters.keys():
            self.has_faults = True
            return [], False
        self.counters |= counters
        self.everywhere += everywhere
        usable = [device for part in listed for device in part if is_on(device.place, self.node)]
        return usable, any(d.item.get("bindingConditions") for part in listed for d in part)

    def _sees(self, spec: Object) -> bool:
        if "sharedCounters" in spec:
            return True
        places = spec["devices"] if spec.get("perDeviceNodeSelection") else [spec]
        return any(is_on(place, self.node) for place in places)


def is_on(place: Object, node: Object) -> bool:
    if "nodeName" in place:
        return bool(place["nodeName"] == node["metadata"]["name"])
    if "nodeSelector" in place:
        return selects(place["nodeSelector"], node)
    return bool(place.get("allNodes"))


def selects(selector: Object | None, node: Object) -> bool:
    if selector is None:
        return True
    (term,) = selector["nodeSelectorTerms"]
    labels: Mapping[str, str] = node["metadata"]["labels"]
    return all(labels.get(e["key"]) in e["values"] for e in term.get("matchExpressions", ())) and (
        all(node["metadata"]["name"] in e["values"] for e in term.get("matchFields", ()))
    )


def _by_pool(slices: Sequence[Object]) -> dict[tuple[str, str], list[Object]]:
    found: dict[tuple[str, str], list[Object]] = {}
    for piece in sorted(slices, key=lambda piece: str(piece["metadata"]["name"])):
        spec = piece["spec"]
        found.setdefault((spec["driver"], spec["pool"]["name"]), []).append(spec)
    return found


def _generation(spec: Object) -> int:
    return int(spec["pool"]["generation"])


def _devices(key: str, spec: Object) -> Iterator[Device]:
    for item in spec.get("devices", ()):
        place = item if spec.get("perDeviceNodeSelection") else spec
        yield Device(f"{key}/{item['name']}", spec["driver"], item, place)


def _counters(key: str, specs: Sequence[Object]) -> dict[Counter, Fraction]:
    return {
        (key, declared["name"], name): quantities.amount(counter["value"])
        for spec in specs
        for declared in spec.get("sharedCounters", ())
        for name, counter in declared["counters"].items()
    }
