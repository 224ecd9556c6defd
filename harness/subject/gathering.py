"""Gathering which devices are in use: allocated, or in flight.

Two structures with two locks cannot be read at one instant. So the gather is optimistic (as the upstream fix, kubernetes#136269): the
allocated devices carry a revision, and an attempt that finds it changed at the end is thrown away. Comparing that one
revision is enough: a claim only ever moves from in flight to allocated, and is allocated before it leaves the flight.
"""

from harness import concurrency
from harness.subject import allocated_devices, claims, in_flight

RETRY_S = 1e-6
TIMEOUT_S = 5.0


class GatherTimeoutError(Exception):
    """There was never a moment of rest."""


class Gatherer:
    """Reads what is in use."""

    def __init__(
        self, allocated: allocated_devices.AllocatedDevices, flight: in_flight.InFlightClaims
    ) -> None:
        self._allocated, self._in_flight = allocated, flight

    def gather(self) -> set[str]:
        """`driver/pool/device` of every device in use at one instant; GatherTimeoutError after 5 s of conflicts."""
        deadline = concurrency.monotonic_s() + TIMEOUT_S
        while (in_use := self.attempt()) is None:
            if concurrency.monotonic_s() > deadline:
                raise GatherTimeoutError(
                    f"conflicting concurrent modifications for {TIMEOUT_S:g} s"
                )
            concurrency.sleep(RETRY_S)
        return in_use

    def attempt(self) -> set[str] | None:
        """One try; None when something changed meanwhile."""
        concurrency.step("gather.started")
        in_use, revision = self._allocated.get()
        concurrency.step("gather.devices.cloned", revision=revision, count=len(in_use))
        self._add_in_flight(in_use)
        if not self._is_current(revision):
            concurrency.step("gather.conflict", revision=revision)
            return None
        concurrency.step("gather.finished", revision=revision, count=len(in_use))
        return in_use

    def _add_in_flight(self, in_use: set[str]) -> None:
        listed = self._in_flight.listed()
        concurrency.step("gather.in-flight.listed", count=len(listed))
        for claim in listed:
            in_use.update(claims.exclusive_devices(claims.allocation_of(claim)))

    def _is_current(self, revision: int) -> bool:
        return self._allocated.revision() == revision
