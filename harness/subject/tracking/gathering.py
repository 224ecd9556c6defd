"""Gathering what is in use: the devices and shares that are allocated or in flight.

After GatherAllocatedState in pkg/scheduler/framework/plugins/dynamicresources/dra_manager.go. The
two sets have different locks and cannot be read at the same instant. The gather is therefore
optimistic, as since the fix of kubernetes#136269: the allocated devices have a revision, and an
attempt is discarded if the revision has changed at its end. Comparing that one revision is enough:
claims only move from in flight to allocated, and are allocated before they leave the in-flight
claims.
"""

from harness import concurrency
from harness.subject.allocation import allocated_states
from harness.subject.objects import claims
from harness.subject.telemetry import klog
from harness.subject.tracking import allocated_devices, in_flight

RETRY_S = 1e-6
"""Wait between two attempts, in seconds, as upstream."""
TIMEOUT_S = 5.0
"""Time limit for all attempts of one gather, in seconds, as upstream."""


CONFLICT = "conflicting concurrent modification"
"""The error of an attempt that met one, in kube-scheduler's words."""
_FINISHED = "Finished GatherAllocatedState"
_IN_FLIGHT = "Device is in flight for allocation"


class GatherTimeoutError(Exception):
    """Every attempt within the time limit met a concurrent modification."""


class Gatherer:
    """Gathers the devices in use."""

    def __init__(
        self, allocated: allocated_devices.AllocatedDevices, flight: in_flight.InFlightClaims
    ) -> None:
        self._allocated, self._in_flight = allocated, flight

    def gather(self) -> allocated_states.AllocatedState:
        """Return every device and share in use at one instant. Raises GatherTimeoutError."""
        deadline = concurrency.monotonic_s() + TIMEOUT_S
        while (in_use := self.attempt()) is None:
            if concurrency.monotonic_s() > deadline:
                raise GatherTimeoutError(
                    f"conflicting concurrent modifications for {TIMEOUT_S:g} s"
                )
            concurrency.sleep(RETRY_S)
        return in_use

    def attempt(self) -> allocated_states.AllocatedState | None:
        """Gather once; return None if the allocated devices changed meanwhile."""
        concurrency.step("gather.started")
        in_use, revision = self._allocated.get()
        concurrency.step("gather.devices.cloned", revision=revision, count=len(in_use.devices))
        self._add_in_flight(in_use)
        if not self._is_current(revision):
            klog.info(6, _FINISHED, allocatedDevices=klog.shown(()), err=CONFLICT)
            concurrency.step("gather.conflict", revision=revision)
            return None
        if klog.enabled(6):
            klog.info(6, _FINISHED, allocatedDevices=klog.shown(in_use.devices), err=None)
        concurrency.step("gather.finished", revision=revision, count=len(in_use.devices))
        return in_use

    def _add_in_flight(self, in_use: allocated_states.AllocatedState) -> None:
        listed = self._in_flight.listed()
        concurrency.step("gather.in-flight.listed", count=len(listed))
        for claim in listed:
            in_use.add(claims.allocation_of(claim))
            if klog.enabled(6):
                for device in claims.exclusive_devices(claims.allocation_of(claim)):
                    klog.info(6, _IN_FLIGHT, device=device, claim=claim)

    def _is_current(self, revision: int) -> bool:
        return self._allocated.revision() == revision
