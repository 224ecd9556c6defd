"""The devices, shares of devices and counters that claims hold during one search.

The search can give back the devices that it takes; those that are allocated already stay so.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import ClassVar

from harness.subject.allocation import (
    allocated_states,
    capacities,
    device_requests,
    devices,
    results,
)

FreeCounters = Callable[[devices.Device], dict[devices.Counter, Decimal]]
_NONE: frozenset[int] = frozenset()
_ZERO = Decimal(0)


class Holdings:
    """The devices in use, those that are allocated and those that the search has taken."""

    is_monotonic: ClassVar[bool] = True
    """A device that cannot be taken cannot be taken either when more devices are in use."""

    def __init__(
        self,
        allocated: allocated_states.AllocatedState,
        free_counters: FreeCounters,
        rules: capacities.Rules,
    ) -> None:
        self._allocated, self._free_counters, self._rules = allocated, free_counters, rules
        self._holders: dict[devices.Device, frozenset[int]] = {}
        """The claims that have taken a device for themselves, or for admin access."""
        self._shares: dict[devices.Device, list[results.Choice]] = {}
        self._counters: dict[object, dict[devices.Counter, Decimal]] = {}
        """Free counters, by the key of their pool."""

    def holders(self, device: devices.Device) -> frozenset[int]:
        """Return the claims that have taken the device, other than shares of it."""
        return self._holders.get(device, _NONE)

    def _has_share(self, device: devices.Device) -> bool:
        """Return whether the search has taken a share that is charged the device's counters."""
        return any(not share.option.admin_access for share in self.shares(device))

    def shares(self, device: devices.Device) -> list[results.Choice]:
        return self._shares.get(device, [])

    def is_allocated(self, device: devices.Device) -> bool:
        """Return whether a claim of before has the device, so that it cannot be taken."""
        known = self._allocated
        if device.id in known.devices:
            return True
        return not device.is_shared and device.id in known.shares

    def is_held(self, claim: int, option: device_requests.Option, device: devices.Device) -> bool:
        """Return whether the device is in use; admin access ignores other claims."""
        if option.admin_access:
            return claim in self.holders(device)
        return device in self._holders or self.is_allocated(device)

    def can_take(self, claim: int, option: device_requests.Option, device: devices.Device) -> bool:
        """Return whether use, taints and counters let the option have the device."""
        if self.is_held(claim, option, device):
            return False
        if not self._is_tolerated(option, device):
            return False
        return not self._is_charged(option, device) or self._has_counters(device)

    def _is_tolerated(self, option: device_requests.Option, device: devices.Device) -> bool:
        blocking = device.blocking_taints
        return not blocking or devices.are_tolerated(blocking, option.tolerations)

    def choice(
        self, claim: int, option: device_requests.Option, device: devices.Device
    ) -> results.Choice | None:
        """Return the choice of the device; None: it has not enough capacity."""
        if not (device.is_shared or option.capacity):
            return results.Choice(claim, option, device, None)
        consumed = device.consumption(option.capacity, self._rules)
        if consumed is None:
            return None
        used = self.used_capacity(device)
        for name, taken in consumed.items():
            if used.get(name, _ZERO) + taken.amount > device.capacity(name):
                return None
        return results.Choice(claim, option, device, consumed if device.is_shared else None)

    def is_enough(self, option: device_requests.Option, device: devices.Device) -> bool:
        """Return whether the device would have enough capacity if no claim had a share of it."""
        if not (device.is_shared or option.capacity):
            return True
        consumed = device.consumption(option.capacity, self._rules)
        return consumed is not None and all(
            taken.amount <= device.capacity(name) for name, taken in consumed.items()
        )

    def used_capacity(self, device: devices.Device) -> dict[str, Decimal]:
        """Return what all shares of a device consume, by name of the capacity."""
        used: dict[str, Decimal] = {}
        for share in self._allocated.shares.get(device.id, {}).values():
            for name, text in share.items():
                used[name] = used.get(name, _ZERO) + self._rules.held(text)
        for choice in self._shares.get(device, ()):
            for name, taken in (choice.consumed or {}).items():
                used[name] = used.get(name, _ZERO) + taken.amount
        return used

    def take(self, choice: results.Choice) -> None:
        """Take the device of a choice, which must be possible."""
        device = choice.device
        if self._is_charged(choice.option, device):
            self._add_counters(device, -1)
        self._take_device(choice)

    def give_back(self, choice: results.Choice) -> None:
        """Undo `take` of the last choice."""
        self._give_back_device(choice)
        if self._is_charged(choice.option, choice.device):
            self._add_counters(choice.device, 1)

    def _take_device(self, choice: results.Choice) -> None:
        device = choice.device
        if device.is_shared:
            self._shares.setdefault(device, []).append(choice)
        else:
            self._holders[device] = self.holders(device) | {choice.claim}

    def _give_back_device(self, choice: results.Choice) -> None:
        device = choice.device
        if device.is_shared:
            self._shares[device].pop()
            if not self._shares[device]:
                del self._shares[device]
        else:
            left = self._holders.pop(device) - {choice.claim}
            if left:
                self._holders[device] = left

    def _is_charged(self, option: device_requests.Option, device: devices.Device) -> bool:
        """Return whether the option takes the device's counters; admin access takes nothing."""
        return not option.admin_access and self._takes_counters(device)

    def _takes_counters(self, device: devices.Device) -> bool:
        """Return whether taking the device takes counters; of shares only the first one does."""
        if not device.consumes or (device.is_shared and self._has_share(device)):
            return False
        return not (device.is_shared and device.id in self._allocated.shares)

    def _has_counters(self, device: devices.Device) -> bool:
        """Return whether there is enough; a device that would give some back is never taken."""
        free = self._counters_of(device)
        return all(0 <= amount <= free[counter] for counter, amount in device.consumes)

    def _add_counters(self, device: devices.Device, sign: int) -> None:
        free = self._counters_of(device)
        for counter, amount in device.consumes:
            free[counter] += sign * amount

    def _counters_of(self, device: devices.Device) -> dict[devices.Counter, Decimal]:
        key = self._counters_key(device)
        if key not in self._counters:
            self._counters[key] = dict(self._free_counters(device))
        return self._counters[key]

    def _counters_key(self, device: devices.Device) -> object:
        return device.pool
