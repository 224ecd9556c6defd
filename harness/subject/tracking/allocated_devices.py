"""The allocated devices and shares of devices, maintained from the events of the assume cache.

After pkg/scheduler/framework/plugins/dynamicresources/allocateddevices.go. Devices and shares have
one lock and one revision. As upstream, devices are not counted: when one of two claims that hold a
device is deallocated, the device looks free although the other claim still holds it. Shares have
IDs, so that each is removed with its own claim.
"""

from harness import concurrency
from harness.client import informers
from harness.model.objects import Object
from harness.subject.allocation import allocated_states
from harness.subject.objects import claims
from harness.subject.telemetry import klog


class AllocatedDevices(informers.EventHandler):
    """The allocated devices and shares; an event handler of the assume cache."""

    def __init__(self) -> None:
        self._guard = concurrency.lock("allocated-devices")
        self._state = allocated_states.AllocatedState()
        self._revision = 0

    def get(self) -> tuple[allocated_states.AllocatedState, int]:
        with concurrency.reading(self._guard):
            return self._state.copy(), self._revision

    def revision(self) -> int:
        """Return the current revision, which every change increases."""
        with concurrency.reading(self._guard):
            return self._revision

    def on_add(self, obj: Object, *, initial: bool) -> None:
        del initial
        if allocation := claims.allocation_of(obj):
            self._insert(obj, allocation)

    def on_update(self, old: Object, new: Object) -> None:
        """Insert or remove devices if the allocation, immutable while set, was set or cleared."""
        before, after = claims.allocation_of(old), claims.allocation_of(new)
        if after and not before:
            self._insert(new, after)
        elif before and not after:
            self._remove(new, before)

    def on_delete(self, last: Object) -> None:
        if allocation := claims.allocation_of(last):
            self._remove(last, allocation)

    def _insert(self, claim: Object, allocation: Object) -> None:
        with self._guard:
            self._bump()
            self._state.add(allocation)
        self._tell("inserted", claim, allocation)

    def _remove(self, claim: Object, allocation: Object) -> None:
        with self._guard:
            self._bump()
            self._state.remove(allocation)
        self._tell("removed", claim, allocation)

    def _tell(self, what: str, claim: Object, allocation: Object) -> None:
        uid = claims.uid_of(claim)
        for device in claims.exclusive_devices(allocation):
            concurrency.step(f"allocated-devices.{what}", device=device, claim=uid)
        for device, share, _ in claims.shares(allocation):
            if what == "inserted":
                message = "Observed shared device allocation"
                klog.info(6, message, **{"shared device": f"{device}/{share}", "claim": claim})
            concurrency.step(f"allocated-shares.{what}", device=device, share=share, claim=uid)

    def _bump(self) -> None:
        """Increase the revision; called under the lock, before anything changes.

        A gather that compares revisions must not see the old revision after a change.
        """
        self._revision += 1
