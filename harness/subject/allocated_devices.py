"""The set of allocated devices, maintained from the events of the assume cache.

After pkg/scheduler/framework/plugins/dynamicresources/allocateddevices.go. The set has its own lock
and its own revision. As upstream, devices are not counted: when one of two claims that hold a
device is deallocated, the device looks free although the other claim still holds it.
"""

from collections.abc import Iterable
from typing import Any

from harness import concurrency
from harness.subject import claims

Object = dict[str, Any]


class AllocatedDevices:
    """The set of exclusively allocated devices; an event handler of the assume cache."""

    def __init__(self) -> None:
        self._guard = concurrency.lock("allocated-devices")
        self._devices: set[str] = set()
        self._revision = 0

    def get(self) -> tuple[set[str], int]:
        """Return a copy of the set, and the revision of that copy."""
        with self._guard:
            return set(self._devices), self._revision

    def revision(self) -> int:
        """Return the current revision, which every change increases."""
        with self._guard:
            return self._revision

    def on_add(self, obj: Object, *, initial: bool) -> None:
        """Insert the devices of a new claim."""
        del initial
        if allocation := claims.allocation_of(obj):
            self._insert(obj, list(claims.exclusive_devices(allocation)))

    def on_update(self, old: Object, new: Object) -> None:
        """Insert or remove devices if the allocation was set or cleared.

        An allocation is immutable while it is set.
        """
        before, after = claims.allocation_of(old), claims.allocation_of(new)
        if after and not before:
            self._insert(new, list(claims.exclusive_devices(after)))
        elif before and not after:
            self._remove(new, list(claims.exclusive_devices(before)))

    def on_delete(self, last: Object) -> None:
        """Remove the devices of a deleted claim."""
        if allocation := claims.allocation_of(last):
            self._remove(last, list(claims.exclusive_devices(allocation)))

    def _insert(self, claim: Object, devices: Iterable[str]) -> None:
        with self._guard:
            self._bump()
            self._devices.update(devices)
        for device in devices:
            concurrency.step(
                "allocated-devices.inserted", device=device, claim=claims.uid_of(claim)
            )

    def _remove(self, claim: Object, devices: Iterable[str]) -> None:
        with self._guard:
            self._bump()
            self._devices.difference_update(devices)
        for device in devices:
            concurrency.step("allocated-devices.removed", device=device, claim=claims.uid_of(claim))

    def _bump(self) -> None:
        """Increase the revision; called under the lock, before the set changes.

        A gather that compares revisions must not see the old revision after the set has changed.
        """
        self._revision += 1
