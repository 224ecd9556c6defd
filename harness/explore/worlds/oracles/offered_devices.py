"""The devices that slices offer, and which of them a request of a claim may have.

Selectors are of the few forms that the worlds use: a driver, a value of a string attribute, or the
least value of an integer or a version, which devices need not have.
"""

import collections
import dataclasses
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from harness.model import quantities
from harness.model.objects import Object

ID = tuple[str, str, str]
"""Driver, pool and name."""
Counter = tuple[str, str, str, str]
"""Driver, pool, set and name."""
_OF_DRIVER = re.compile(r"device\.driver == '([^']*)'")
_OF_ATTRIBUTE = re.compile(r"device\.attributes\['([^']*)'\]\.(\w+) == '([^']*)'")
_OF_LEAST = re.compile(
    r"'(\w+)' in device\.attributes\['([^']*)'\] && !?device\.attributes\['[^']*'\]\.\w+"
    r"(?: >= |\.isLessThan\(semver\(')([0-9.]+)(?:'\)\))?"
)
_BLOCKING = ("NoSchedule", "NoExecute")


@dataclasses.dataclass(frozen=True, slots=True)
class Offer:
    """A device as a slice has it."""

    id: ID
    device: Object
    spec: Object
    """The spec of its slice."""

    @property
    def node(self) -> str | None:
        """The node that alone can use the device; None: it does not name one."""
        node: str | None = self.spec.get("nodeName") or self.device.get("nodeName")
        return node

    @property
    def is_shared(self) -> bool:
        """Several claims can have shares of the device."""
        return bool(self.device.get("allowMultipleAllocations"))

    def is_reachable(self, node: str) -> bool:
        return self.node == node or (self.node is None and bool(self.spec.get("allNodes")))

    def attribute(self, key: str) -> Object | None:
        """Return the value of an attribute, with its type; None: the device has none."""
        value: Object | None = (self.device.get("attributes") or {}).get(key)
        return value


@dataclasses.dataclass(frozen=True, slots=True)
class Wish:
    """A request, or one of its alternatives."""

    name: str
    """The name that results use: `request`, or `request/alternative`."""
    wanted: Object

    @property
    def count(self) -> int | None:
        """Number of devices; None: all that fit."""
        is_all = self.wanted.get("allocationMode") == "All"
        return None if is_all else int(self.wanted.get("count") or 1)

    @property
    def is_admin(self) -> bool:
        """True if it asks for admin access."""
        return bool(self.wanted.get("adminAccess"))

    def selects(self, offer: Offer) -> bool:
        found = self.wanted.get("selectors") or ()
        return all(_is_selected(item["cel"]["expression"], offer) for item in found)

    def amounts(self, offer: Offer) -> dict[str, Fraction] | None:
        """Return what is taken of each capacity of a device; None: it cannot give that at all."""
        asked = (self.wanted.get("capacity") or {}).get("requests") or {}
        declared = offer.device.get("capacity") or {}
        every = {name: taken(asked.get(name), declared[name]) for name in declared}
        found = {
            name: amount
            for name, amount in every.items()
            if amount is not None and amount <= quantities.amount(declared[name]["value"])
        }
        return found if len(found) == len(every) and asked.keys() <= every.keys() else None

    def tolerates(self, offer: Offer, tainted: Iterable[str] = ()) -> bool:
        """Return whether the taints are tolerated; those of a driver in `tainted` never are."""
        if offer.id[0] in tainted:
            return False
        keys = {item.get("key") for item in self.wanted.get("tolerations") or ()}
        taints = offer.device.get("taints") or ()
        return all(item["key"] in keys for item in taints if item.get("effect") in _BLOCKING)


def taken(wanted: str | None, capacity: Object) -> Fraction | None:
    """Return what a request takes of one capacity of a device; None: its policy forbids it.

    `wanted` None: the request does not say. `capacity` is an entry of the device's `capacity`.
    """
    policy = capacity.get("requestPolicy", {})
    default = quantities.amount(policy["default"]) if "default" in policy else None
    if wanted is None:
        return quantities.amount(capacity["value"]) if default is None else default
    asked = quantities.amount(wanted)
    rounded = _rounded(asked, policy)
    if rounded is None and asked == default:
        return asked
    return None if rounded is None or rounded < 0 else rounded


def _rounded(asked: Fraction, policy: Object) -> Fraction | None:
    if "validValues" in policy:
        return next(
            (value for value in map(quantities.amount, policy["validValues"]) if value >= asked),
            None,
        )
    if "validRange" not in policy:
        return asked
    limits = {name: quantities.amount(text) for name, text in policy["validRange"].items()}
    rounded = max(asked, limits["min"])
    if "step" in limits:
        steps = math.ceil((rounded - limits["min"]) / limits["step"])
        rounded = limits["min"] + steps * limits["step"]
    return None if rounded > limits.get("max", rounded) else rounded


def offers(specs: Iterable[Object]) -> Iterator[Offer]:
    """Yield the devices of the specs of slices."""
    for spec in specs:
        for device in spec.get("devices") or ():
            yield Offer((spec["driver"], spec["pool"]["name"], device["name"]), device, spec)


def wishes(request: Object) -> Sequence[Wish]:
    """Return the alternatives of a request, the best first."""
    if "exactly" in request:
        return (Wish(request["name"], request["exactly"]),)
    listed = request.get("firstAvailable") or ()
    return [Wish(f"{request['name']}/{item['name']}", item) for item in listed]


def id_of(result: Object) -> ID:
    """Return the device of a result."""
    return result["driver"], result["pool"], result["device"]


def amount(text: str) -> Fraction:
    """Return a quantity; one below zero counts as zero."""
    return max(quantities.amount(text), Fraction(0))


def used_counters(consuming: Iterable[Offer]) -> dict[Counter, Fraction]:
    """Return what devices consume together."""
    used: dict[Counter, Fraction] = collections.defaultdict(Fraction)
    for offer in consuming:
        for item in offer.device.get("consumesCounters") or ():
            for counter, consumed in item["counters"].items():
                used[*offer.id[:2], item["counterSet"], counter] += amount(consumed["value"])
    return used


def counters(specs: Iterable[Object]) -> dict[Counter, Fraction]:
    """Return the counters of the specs of slices."""
    return {
        (spec["driver"], spec["pool"]["name"], item["name"], counter): amount(declared["value"])
        for spec in specs
        for item in spec.get("sharedCounters") or ()
        for counter, declared in item["counters"].items()
    }


def holds(constraint: Object, offered: Iterable[Offer]) -> bool:
    """Return whether the devices keep a constraint of their claim."""
    key = str(constraint.get("matchAttribute") or constraint.get("distinctAttribute"))
    values = [_values(offer.attribute(key)) for offer in offered]
    if not all(values):
        return False
    if "matchAttribute" in constraint:
        return not values or bool(set.intersection(*values))
    return sum(map(len, values)) == len(set().union(*values))


def _values(attribute: Object | None) -> set[tuple[str, Any]]:
    return {
        (kind.removesuffix("s"), value)
        for kind, given in (attribute or {}).items()
        for value in (given if isinstance(given, list) else [given])
    }


def _is_selected(expression: str, offer: Offer) -> bool:
    if found := _OF_DRIVER.fullmatch(expression):
        return offer.id[0] == found[1]
    if found := _OF_ATTRIBUTE.fullmatch(expression):
        return offer.attribute(f"{found[1]}/{found[2]}") == {"string": found[3]}
    if found := _OF_LEAST.fullmatch(expression):
        return _is_least(found[3], offer.attribute(f"{found[2]}/{found[1]}"))
    raise ValueError(f"expected a selector of a world, got {expression!r}")


def _is_least(least: str, attribute: Object | None) -> bool:
    """Return whether an integer or a version, if there is one, is at least this one."""
    values = [str(value) for value in (attribute or {}).values()]
    return any(_parts(value) >= _parts(least) for value in values)


def _parts(version: str) -> list[int]:
    return [*map(int, version.split("."))]
