"""A solver that has no tricks: every assignment in order, the first one that is right.

It shares nothing with the allocator. Each assignment is judged as a whole, also one that is not
complete: no rule is broken by one device and kept by one more, so what follows a broken one is
left out. Where the order counts (a device for admin access is in use for the requests after it),
it is walked through from the beginning. It gives up after a number of judged assignments.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from harness.model import quantities
from tests.model_based.allocation import selections, supplies, uses

Object = dict[str, Any]
JUDGED_MAX = 10_000
"""Assignments that are judged before the solver gives up."""
DEVICES_MAX = 32
"""The API's limit for the devices of one claim."""


class NodeRefused(Exception):  # noqa: N818 - an answer
    """A request for all devices, and a pool of the node that may have more of them."""


class AttemptEnds(Exception):  # noqa: N818 - an answer
    """A claim asks for more devices than a claim can have."""


class GaveUp(Exception):  # noqa: N818 - an answer
    """There are too many assignments to judge."""


@dataclasses.dataclass(frozen=True)
class Row:
    """One device for one request."""

    claim: int
    label: str
    """`request` or `request/subrequest`."""
    device: supplies.Device
    option: Object
    consumed: Mapping[str, Fraction] | None
    """The amounts that the share takes; None: no share."""

    @property
    def is_admin(self) -> bool:
        return bool(self.option.get("adminAccess"))


Request = tuple[int, str, list[tuple[str, Object]]]
"""Index of the claim, name, alternatives with their labels."""


class Solver:
    """Solves the claims of one pod on one node."""

    def __init__(
        self, supply: supplies.Supply, used: uses.Uses, classes: Mapping[str, Object]
    ) -> None:
        self._supply, self._used, self._classes = supply, used, classes
        self.has_failing_selector = False
        """A selector failed on a device."""
        self.has_violating_device = False
        """A request asked for all devices, and a constraint did not let it have one of them."""
        self._judged = 0

    def solve(self, claims: Sequence[Object]) -> list[Row] | None:
        """Return the first right assignment; None if there is none.

        Raises NodeRefused, AttemptEnds and GaveUp.
        """
        self._claims = claims
        requests = [
            (index, request["name"], list(_options(request)))
            for index, claim in enumerate(claims)
            for request in claim["spec"]["devices"]["requests"]
        ]
        everything = [option for request in requests for _, option in request[2] if _is_all(option)]
        if everything and self._supply.has_faults:
            raise NodeRefused
        self._require_few(requests)
        return self._extended([], requests)

    def _require_few(self, requests: Sequence[Request]) -> None:
        least = [0] * len(self._claims)
        for claim, _, options in requests:
            least[claim] += min(self._needed(option) for _, option in options)
        if any(count > DEVICES_MAX for count in least):
            raise AttemptEnds

    def _needed(self, option: Object) -> int:
        return len(self._all(option)) if _is_all(option) else int(option["count"])

    def _extended(self, rows: list[Row], left: Sequence[Request]) -> list[Row] | None:
        """Return a right assignment that begins with these rows; None if there is none."""
        if not left:
            return rows
        claim, _, options = left[0]
        for label, option in options:
            for way in self._ways(rows, claim, label, option):
                if self._is_right([*rows, *way]):
                    found = self._extended([*rows, *way], left[1:])
                    if found is not None:
                        return found
        return None

    # ------------------------------------------------------------------- one request

    def _ways(self, rows: list[Row], claim: int, label: str, option: Object) -> Iterator[list[Row]]:
        """Yield every way to satisfy an alternative alone, in order of preference."""
        fitting = self._all(option) if _is_all(option) else list(self._selected(option))
        made = [Row(claim, label, d, option, self._share(d, option)) for d in fitting]
        if _is_all(option):
            if made:
                self._note_violation(rows, made)
                yield made
            return
        alone = [row for row in made if self._is_right([*rows, row])]
        yield from map(list, itertools.combinations(alone, option["count"]))

    def _selected(self, option: Object) -> Iterator[supplies.Device]:
        for device in self._supply.devices:
            if self._selects(option, device) and self._has_capacity(device, option):
                yield device

    def _all(self, option: Object) -> list[supplies.Device]:
        """Return the devices that a request for all asks for, whether they are free or not."""
        return list(self._selected(option))

    def _selects(self, option: Object, device: supplies.Device) -> bool:
        device_class = self._classes[option["deviceClassName"]]["spec"]
        texts = [
            item["cel"]["expression"]
            for item in (*device_class.get("selectors", ()), *option.get("selectors", ()))
        ]
        try:
            return all(selections.SELECTORS[text](device.driver, device.item) for text in texts)
        except KeyError:
            self.has_failing_selector = True
            return False

    def _has_capacity(self, device: supplies.Device, option: Object) -> bool:
        """Return whether a device, if it were free, has what the option takes of it."""
        wanted = _wanted(option)
        capacity = device.item.get("capacity", {})
        if not wanted.keys() <= capacity.keys():
            return False
        if not (device.is_shared or wanted):
            return True
        taken = _taken(wanted, capacity)
        return all(
            taken[name] is not None and taken[name] <= quantities.amount(entry["value"])
            for name, entry in capacity.items()
        )

    def _share(self, device: supplies.Device, option: Object) -> Mapping[str, Fraction] | None:
        if not device.is_shared:
            return None
        return _taken(_wanted(option), device.item.get("capacity", {}))

    # ------------------------------------------------------------------- the whole

    def _is_right(self, rows: Sequence[Row]) -> bool:
        return self._can_be_used(rows) and self._satisfies_all(rows) and self._fits(rows)

    def _can_be_used(self, rows: Sequence[Row]) -> bool:
        self._judged += 1
        if self._judged > JUDGED_MAX:
            raise GaveUp
        return (
            self._is_free(rows)
            and self._is_few(rows)
            and self._has_counters(rows)
            and all(tolerates(row.option, row.device.item) for row in rows)
        )

    def _is_free(self, rows: Sequence[Row]) -> bool:
        for position, row in enumerate(rows):
            device = row.device
            if device.is_shared:
                if not row.is_admin and device.id in self._used.whole:
                    return False
                continue
            earlier = [other.claim for other in rows[:position] if other.device.id == device.id]
            is_used = earlier or self._used.has(device.id)
            if row.claim in earlier if row.is_admin else is_used:
                return False
        return True

    def _is_few(self, rows: Sequence[Row]) -> bool:
        counts = [0] * len(self._claims)
        for row in rows:
            counts[row.claim] += 1
        return max(counts) <= DEVICES_MAX

    def _fits(self, rows: Sequence[Row]) -> bool:
        shared = {row.device.id: row.device for row in rows if row.consumed is not None}
        return all(self._has_room(device, rows) for device in shared.values())

    def _has_room(self, device: supplies.Device, rows: Sequence[Row]) -> bool:
        used = dict(self._used.shares.get(device.id, {}))
        for row in rows:
            for name, amount in (row.consumed or {}).items() if row.device.id == device.id else ():
                used[name] = used.get(name, Fraction(0)) + amount
        capacity = device.item.get("capacity", {})
        return all(
            used.get(name, Fraction(0)) <= quantities.amount(entry["value"])
            for name, entry in capacity.items()
        )

    def _has_counters(self, rows: Sequence[Row]) -> bool:
        """Return whether the pools have the counters that the devices consume.

        Admin access consumes none, and of shares only the first one does.
        """
        taken = {row.device.id: row.device for row in rows if not row.is_admin}
        new = [device for key, device in taken.items() if not self._used.has(key)]
        consumed = [entry for device in new for entry in device.consumed()]
        if any(amount < 0 for _, amount in consumed):
            return False
        if any(self._lost_devices(counter[0]) for counter, _ in consumed):
            return False
        before = [device for device in self._supply.everywhere if self._used.has(device.id)]
        total: dict[supplies.Counter, Fraction] = {}
        for counter, amount in [*consumed, *(e for d in before for e in d.consumed())]:
            total[counter] = total.get(counter, Fraction(0)) + amount
        return all(total[counter] <= self._supply.counters[counter] for counter, _ in consumed)

    def _lost_devices(self, pool: str) -> bool:
        """Return whether a device in use has left the pool: what it consumes is not known."""
        offered = {device.id for device in self._supply.everywhere}
        gone = {*self._used.whole, *self._used.shares} - offered
        return any(key.rpartition("/")[0] == pool for key in gone)

    def _satisfies_all(self, rows: Sequence[Row]) -> bool:
        return all(
            _satisfies(constraint, [row for row in rows if row.claim == index])
            for index, claim in enumerate(self._claims)
            for constraint in claim["spec"]["devices"].get("constraints", ())
        )

    def _note_violation(self, rows: list[Row], made: list[Row]) -> None:
        """Note a device of a request for all that a constraint refuses before its capacity does."""
        for count in range(len(made)):
            before, taken = [*rows, *made[:count]], [*rows, *made[: count + 1]]
            if not (self._fits(before) and self._can_be_used(taken)):
                return
            if not self._satisfies_all(taken):
                self.has_violating_device = True
                return


def _options(request: Object) -> Iterator[tuple[str, Object]]:
    if "exactly" in request:
        yield request["name"], request["exactly"]
    for sub in request.get("firstAvailable", ()):
        yield f"{request['name']}/{sub['name']}", sub


def _is_all(option: Object) -> bool:
    return bool(option["allocationMode"] == "All")


def _wanted(option: Object) -> Mapping[str, str]:
    found: Mapping[str, str] = option.get("capacity", {}).get("requests", {})
    return found


def _taken(wanted: Mapping[str, str], capacity: Object) -> dict[str, Any]:
    return {name: _taken_of(wanted.get(name), entry) for name, entry in capacity.items()}


def _taken_of(wanted: str | None, capacity: Object) -> Fraction | None:
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


def tolerates(option: Object, item: Object) -> bool:
    """Return whether a request tolerates the taints that keep a device from being given."""
    return all(
        any(_tolerates(toleration, taint) for toleration in option.get("tolerations", ()))
        for taint in item.get("taints", ())
        if taint["effect"] != "None"
    )


def _tolerates(toleration: Object, taint: Object) -> bool:
    is_key = toleration.get("key", taint["key"]) == taint["key"]
    is_effect = toleration.get("effect", taint["effect"]) == taint["effect"]
    is_value = toleration["operator"] == "Exists" or toleration["value"] == taint["value"]
    return is_key and is_effect and is_value


def _satisfies(constraint: Object, rows: Sequence[Row]) -> bool:
    attribute = constraint.get("matchAttribute") or constraint["distinctAttribute"]
    names = constraint.get("requests")
    sets = [
        row.device.values(attribute)
        for row in rows
        if not names or row.label in names or row.label.partition("/")[0] in names
    ]
    if None in sets:
        return False
    known = [values for values in sets if values is not None]
    if "matchAttribute" in constraint:
        return not known or bool(set.intersection(*known))
    return all(a.isdisjoint(b) for a, b in itertools.combinations(known, 2))
