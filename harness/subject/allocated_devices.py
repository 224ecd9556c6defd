"""Which devices are allocated, as the assume cache's events tell it; own lock, own revision.

After allocatedDevices of kube-scheduler's dynamicresources plugin. A device is in the set or not; it is not
counted, so that a double allocation that is half undone makes the device look free, as upstream.
"""

from collections.abc import Iterable
from typing import Any

from harness import concurrency
from harness.subject import claims

Object = dict[str, Any]


class AllocatedDevices:
    """The set of exclusively allocated devices; a handler of the assume cache."""

    def __init__(self) -> None:
        self._guard = concurrency.lock("allocated-devices")
        self._devices: set[str] = set()
        self._revision = 0

    def get(self) -> tuple[set[str], int]:
        """A copy of the set and the revision it belongs to."""
        with self._guard:
            return set(self._devices), self._revision

    def revision(self) -> int:
        """Grows with every change."""
        with self._guard:
            return self._revision

    def on_add(self, obj: Object, *, initial: bool) -> None:
        """A claim is new."""
        del initial
        if allocation := claims.allocation_of(obj):
            self._insert(obj, list(claims.exclusive_devices(allocation)))

    def on_update(self, old: Object, new: Object) -> None:
        """A claim has changed; its allocation cannot change, only come and go."""
        before, after = claims.allocation_of(old), claims.allocation_of(new)
        if after and not before:
            self._insert(new, list(claims.exclusive_devices(after)))
        elif before and not after:
            self._remove(new, list(claims.exclusive_devices(before)))

    def on_delete(self, last: Object) -> None:
        """A claim is gone, and its allocation with it."""
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
        """Before the change and under its lock: whoever compares revisions must never be late."""
        self._revision += 1
