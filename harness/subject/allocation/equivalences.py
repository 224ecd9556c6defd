"""Devices and states that a search need not try, because they are like one that failed.

Devices are alike if no request of the search can distinguish them: the same selectors accept them,
the constrained attributes have the same values, and they consume the same. States are equal if the
same request comes next, and as many devices of each kind are taken. If one of them fails, so does
the other: a solution could be carried over by swapping devices that are alike.

A value that only one device has is as good as any other such value.
"""

import collections
import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from harness.subject.allocation import attributes, device_requests, devices, holdings
from harness.subject.cel import selectors as cel_selectors

Value = tuple[str, Any]
UNIQUE = ("", "unique")
"""Stands for each value that only one device has."""


@dataclasses.dataclass(frozen=True, slots=True)
class State:
    """Where a search is, apart from the devices that it holds."""

    request: int
    """Index of the request that comes next or is not complete."""
    option: device_requests.Option | None
    """The alternative that is not complete; None: the request has not begun."""
    taken: int
    """Number of devices that this alternative has."""
    claim: int
    """Index of the claim."""
    results: int
    """Number of devices that the claim has."""
    constraints: tuple[attributes.State, ...]
    """States of the constraints of the claim."""


class KnownFailures:
    """The states that failed, and those that must fail because too few devices are left."""

    def __init__(
        self,
        requests: Sequence[device_requests.DeviceRequest],
        constraints: Sequence[tuple[attributes.Constraint, ...]],
        known: Sequence[devices.Device],
        held: holdings.Holdings,
    ) -> None:
        """`known`: the devices of the node."""
        self._requests, self._constraints, self._held = requests, constraints, held
        self._options = [option for request in requests for option in request.options]
        self._attributes = sorted({item.attribute for listed in constraints for item in listed})
        self._holders_of_value = _count_values(known, self._attributes)
        kinds: dict[object, int] = {}
        self._kind = {item: kinds.setdefault(self._profile(item), len(kinds)) for item in known}
        self._accepting: dict[device_requests.Option, list[devices.Device]] = {}
        self._known = known
        self._failed: set[object] = set()

    def add(self, state: State) -> None:
        """Remember that the state, with what is held now, failed."""
        self._failed.add(self._key(state))

    def has(self, state: State) -> bool:
        """Return whether the state, with what is held now, is known to fail."""
        return self._lacks_devices(state) or self._key(state) in self._failed

    def kind(
        self, device: devices.Device, claim: int, option: device_requests.Option | None
    ) -> object:
        """Return what the device is like now, for an option of this claim; None: none has begun."""
        if device.is_shared:
            used = tuple(sorted(self._held.used_capacity(device).items()))
            shares = self._held.shares(device)
            of_option = option in {share.option for share in shares}
            return self._kind[device], used, bool(shares), self._held.is_owned(device), of_option
        holders = self._held.holders(device)
        return self._kind[device], bool(holders), self._held.is_owned(device), claim in holders

    def _key(self, state: State) -> object:
        kinds = collections.Counter(
            self.kind(item, state.claim, state.option) for item in self._held.touched()
        )
        constraints = self._constraints[state.claim] if state.claim >= 0 else ()
        states = tuple(map(self._plain_state, constraints, state.constraints))
        place = state.request, state.option, state.taken, state.results
        return place, states, frozenset(kinds.items())

    def _plain_state(
        self, constraint: attributes.Constraint, state: attributes.State
    ) -> attributes.State:
        if state is None:
            return None
        plain = (self._plain_value(constraint.attribute, value) for value in state)
        if constraint.is_match:
            return frozenset(plain)
        return frozenset(value for value in plain if value is not UNIQUE)

    def _plain_value(self, attribute: str, value: Value) -> Value:
        return UNIQUE if self._holders_of_value[attribute, value] == 1 else value

    # ------------------------------------------------------------------- kinds of devices

    def _profile(self, device: devices.Device) -> object:
        accepted = tuple(self._is_accepted(option, device) for option in self._options)
        values = tuple(self._values(device, name) for name in self._attributes)
        consumes = (device.pool, device.consumes) if device.consumes else ()
        capacity = repr(device.document.get("capacity")) if device.is_shared else ""
        used = self._held.is_allocated(device)
        return accepted, values, consumes, capacity, used, device.is_shared

    def _values(self, device: devices.Device, attribute: str) -> attributes.State:
        values = device.attribute(attribute)
        if values is None:
            return None
        return frozenset(self._plain_value(attribute, value) for value in values)

    def _is_accepted(
        self, option: device_requests.Option, device: devices.Device
    ) -> bool | devices.Device:
        """Return whether selectors, taints and capacity let the option have the device.

        The capacity of a shared device changes during the search, and is not considered. A device
        on which a selector fails is like no other.
        """
        try:
            accepted = device.satisfies(option.selectors)
        except cel_selectors.SelectorError:
            return device
        if not accepted or not devices.are_tolerated(device.blocking_taints, option.tolerations):
            return False
        return device.is_shared or self._held.choice(0, option, device) is not None

    # ------------------------------------------------------------------- counting

    def _lacks_devices(self, state: State) -> bool:
        """Return whether too few devices are left for one of the requests that remain."""
        for index in range(state.request, len(self._requests)):
            is_current = index == state.request and state.option is not None
            options = (state.option,) if is_current else self._requests[index].options
            taken = state.taken if is_current else 0
            if not any(option and self._has_enough(option, taken) for option in options):
                return True
        return False

    def _has_enough(self, option: device_requests.Option, taken: int) -> bool:
        """Return whether an option can get the devices that it lacks, if it had them all."""
        needed = (option.count or 1) - taken
        if option not in self._accepting:
            self._accepting[option] = [
                item for item in self._known if self._is_accepted(option, item)
            ]
        for device in self._accepting[option]:
            held = self._held.is_allocated(device) or self._held.holders(device)
            needed -= option.admin_access or not held
            if needed <= 0:
                return True
        return needed <= 0


def _count_values(
    known: Iterable[devices.Device], names: Sequence[str]
) -> "collections.Counter[tuple[str, Value]]":
    """Return how many devices have a value; shared devices count twice, being more than one."""
    counts: collections.Counter[tuple[str, Value]] = collections.Counter()
    for device in known:
        for name in names:
            for value in device.attribute(name) or ():
                counts[name, value] += 2 if device.is_shared else 1
    return counts
