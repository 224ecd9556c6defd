"""The allocator's search as up to 1.36.2, with state that giving a device up does not restore.

After `allocateOne` and `allocateDevice` in
k8s.io/dynamic-resource-allocation/structured/internal/experimental of that release.
"""

from collections.abc import Iterator
from typing import ClassVar

from harness.extensions import replacements
from harness.subject.allocation import (
    attributes,
    device_requests,
    devices,
    holdings,
    results,
    searches,
)

Values = frozenset[tuple[str, object]]


# ------------------------------------------------------------------ constraints


class RestoredValues:
    """A constraint whose state a removed device restores, as it should."""

    def __init__(self, constraint: attributes.Constraint) -> None:
        self._constraint = constraint
        self._states: list[attributes.State] = [None]

    def add(self, option: device_requests.Option, device: devices.Device) -> bool:
        if not self._constraint.covers(option):
            return True
        state = self._constraint.accept(self._states[-1], device)
        if state is not None:
            self._states.append(state)
        return state is not None

    def remove(self, option: device_requests.Option) -> None:
        if self._constraint.covers(option):
            self._states.pop()


class NarrowValues(RestoredValues):
    """The state of the last device stays until there is no device at all."""

    def remove(self, option: device_requests.Option) -> None:
        if self._constraint.covers(option):
            self._states.pop(-2 if len(self._states) > 2 else -1)


class ScalarMatch(RestoredValues):
    """`matchAttribute`: only the first device may have a list, and then no other one matches it.

    A list is a value of an unknown type, also with the gate DRAListTypeAttributes. Seen in the
    recorded allocations of 1.36.2.
    """

    def __init__(self, constraint: attributes.Constraint) -> None:
        super().__init__(constraint)
        self._devices = 0
        self._first: tuple[Values, bool] = (frozenset(), False)
        """The values of the first device, and whether they are a list."""

    def add(self, option: device_requests.Option, device: devices.Device) -> bool:
        if not self._constraint.covers(option):
            return True
        values = device.attribute(self._constraint.attribute)
        if values is None:
            return False
        known = values, device.has_list(self._constraint.attribute)
        if self._devices and (known[1] or known != self._first):
            return False
        self._first = self._first if self._devices else known
        self._devices += 1
        return True

    def remove(self, option: device_requests.Option) -> None:
        self._devices -= self._constraint.covers(option)


class LastValueDistinct(RestoredValues):
    """`distinctAttribute`: only the value of the last device of each request is compared.

    A request for three devices may get x, y and x again; after a device was given up, its request
    has no value at all. Fixed after 1.36.2 (kubernetes#140438). A list is a value of an unknown
    type, which differs from no value that there is already.
    """

    def __init__(self, constraint: attributes.Constraint) -> None:
        super().__init__(constraint)
        self._last: dict[str, Values] = {}
        """The value by request, empty for a list."""

    def add(self, option: device_requests.Option, device: devices.Device) -> bool:
        if not self._constraint.covers(option):
            return True
        values = device.attribute(self._constraint.attribute)
        if values is None:
            return False
        is_list = device.has_list(self._constraint.attribute)
        known = self._last.values()
        if known and (is_list or not all(map(values.isdisjoint, known))):
            return False
        self._last[option.request] = frozenset() if is_list else values
        return True

    def remove(self, option: device_requests.Option) -> None:
        if self._constraint.covers(option):
            self._last.pop(option.request, None)


# ------------------------------------------------------------------ counters


@replacements.known_as("counters-by-pool-name")
class ByPoolNameHoldings(holdings.Holdings):
    is_monotonic = False

    def _has_counters(self, device: devices.Device) -> bool:
        free = self._counters_of(device)
        return all(free.get(counter, amount) >= amount for counter, amount in device.consumes)

    def _add_counters(self, device: devices.Device, sign: int) -> None:
        free = self._counters_of(device)
        for counter, amount in device.consumes:
            if counter in free:
                free[counter] += sign * amount

    def _counters_key(self, device: devices.Device) -> object:
        return device.pool[1]


@replacements.known_as("counters-not-given-back")
class NotGivenBackHoldings(holdings.Holdings):
    is_monotonic = False

    def can_take(self, claim: int, option: device_requests.Option, device: devices.Device) -> bool:
        if self.is_held(claim, option, device):
            return False
        if self._takes_counters(device):
            if not self._has_counters(device):
                return False
            self._add_counters(device, -1)
        return self._is_tolerated(option, device)

    def take(self, choice: results.Choice) -> None:
        # its counters are taken already
        self._take_device(choice)

    def give_back(self, choice: results.Choice) -> None:
        self._give_back_device(choice)
        if not choice.device.is_shared and self._takes_counters(choice.device):
            self._add_counters(choice.device, 1)


# ------------------------------------------------------------------ the search


class TrackingSearch(searches.Search):
    """A search whose constraints have a state of their own."""

    is_monotonic = False
    matches: ClassVar[type[RestoredValues]] = RestoredValues
    differs: ClassVar[type[RestoredValues]] = RestoredValues
    """The classes of `matchAttribute` and `distinctAttribute`."""

    def run(self) -> bool:
        """Search; return whether there is a solution. Raises as the correct search does."""
        self._tracked = [[*map(self._tracker, listed)] for listed in self._problem.constraints]
        return super().run()

    def _tracker(self, constraint: attributes.Constraint) -> RestoredValues:
        return (self.matches if constraint.is_match else self.differs)(constraint)

    def _undo(self) -> None:
        move = self._path[-1]
        if isinstance(move, searches.Take):
            choice = move.choice
            self._remove(self._tracked[choice.claim], choice.option)
        super()._undo()

    def _taking(
        self, claim: int, option: device_requests.Option, device: devices.Device, position: int
    ) -> searches.Take | None:
        if self._held.is_held(claim, option, device) or self._is_taken_already(device):
            return None
        if not device.satisfies(option.selectors):
            return None
        choice = self._held.choice(claim, option, device)
        if choice is None or not self._held.can_take(claim, option, device):
            return None
        return searches.Take(choice, position, ()) if self._add(claim, option, device) else None

    def _next_of_all(self, every: tuple[devices.Device, ...]) -> Iterator[searches.Take]:
        option, device, claim = self._begun[-1].option, every[self._taken[-1]], self._claim_now()
        if not self._held.can_take(claim, option, device):
            return
        if not self._add(claim, option, device):
            raise searches.refused_by_constraint(option, device)
        if (choice := self._held.choice(claim, option, device)) is not None:
            yield searches.Take(choice, -1, ())

    def _is_taken_already(self, device: devices.Device) -> bool:
        taken = self._taken[-1]
        return any(choice.device is device for choice in self.chosen[len(self.chosen) - taken :])

    def _add(self, claim: int, option: device_requests.Option, device: devices.Device) -> bool:
        """Add the device to all constraints; to none if one of them refuses it."""
        for index, constraint in enumerate(self._tracked[claim]):
            if not constraint.add(option, device):
                self._remove(self._tracked[claim][:index], option)
                return False
        return True

    def _remove(self, constraints: list[RestoredValues], option: device_requests.Option) -> None:
        for constraint in constraints:
            constraint.remove(option)


@replacements.known_as("distinct-by-request")
class DistinctByRequestSearch(TrackingSearch):
    differs = LastValueDistinct


@replacements.known_as("intersection-stays-narrow")
class StaysNarrowSearch(TrackingSearch):
    matches = NarrowValues
