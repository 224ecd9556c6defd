"""Known defects of the scheduler's books: of what is assumed, allocated and in flight."""

from harness import concurrency
from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.allocation import allocated_states
from harness.subject.plugin import claim_binding
from harness.subject.tracking import allocated_devices, assume_caches, gathering, in_flight


@replacements.known_as("assume-cache-early-return")
class EarlyReturnAssumeCache(assume_caches.AssumeCache):
    def _begin_emitting(self) -> bool:
        with concurrency.in_parts(self._changed):
            if self._emitting.is_taken:
                return False
            self._emitting.take()
        return True


@replacements.known_as("assume-cache-shared-drain")
class SharedDrainAssumeCache(assume_caches.AssumeCache):
    def _emit(self) -> None:
        while True:
            with concurrency.in_parts(self._changed):
                event = self._take_event()
            if event is None:
                return
            event.deliver()


@replacements.known_as("gather-not-atomic")
class NotAtomicGatherer(gathering.Gatherer):
    def _is_current(self, revision: int) -> bool:
        del revision
        return True


@replacements.known_as("in-flight-overwritten")
class OverwrittenInFlightClaims(in_flight.InFlightClaims):
    def _note(self, uid: str, claim: Object) -> bool:
        self._plans[uid] = 1
        self._claims[uid] = claim
        return True


@replacements.known_as("in-flight-removed-first")
class RemovedFirstBinder(claim_binding.ClaimBinder):
    def _settle(self, uid: str, written: Object | None, *, was_planned: bool) -> None:
        if was_planned and written is not None:
            self._in_flight.remove(uid)
        self._assume(uid, written)


@replacements.known_as("revision-bumped-late")
class BumpedLateDevices(allocated_devices.AllocatedDevices):
    def __init__(self) -> None:
        super().__init__()
        self._owed = 0

    def get(self) -> tuple[allocated_states.AllocatedState, int]:
        with self._guard:
            self._revision += self._owed
            self._owed = 0
            return self._state.copy(), self._revision

    def _bump(self) -> None:
        self._owed += 1


@replacements.known_as("revision-compared-early")
class ComparedEarlyGatherer(gathering.Gatherer):
    def attempt(self) -> allocated_states.AllocatedState | None:
        in_use, revision = self._allocated.get()
        if not self._is_current(revision):
            return None
        concurrency.step("gather.devices.cloned", revision=revision, count=len(in_use.devices))
        self._add_in_flight(in_use)
        return in_use
