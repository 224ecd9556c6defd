"""Known defects of the scheduler's books: of what is assumed, allocated and in flight."""

from harness import concurrency
from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.allocation import allocated_states
from harness.subject.plugin import claim_binding
from harness.subject.tracking import allocated_devices, assume_caches, gathering, in_flight


class EarlyReturnAssumeCache(assume_caches.AssumeCache):
    """Emitting is exclusive, but a caller that meets another emitter returns instead of waiting.

    The other emitter will deliver the event, but `assume` guarantees that it has been delivered
    when it returns. This is the part of the fix of kubernetes#136269 that keeps the order of
    events, without the part that waits.
    """

    facts = replacements.Facts(
        name="assume-cache-early-return",
        worlds=("two-claims-one-device", "pod-arrives-during-binding", "four-claims-two-devices"),
    )

    def _begin_emitting(self) -> bool:
        with concurrency.in_parts(self._changed):
            if self._emitting.is_taken:
                return False
            self._emitting.take()
        return True


class SharedDrainAssumeCache(assume_caches.AssumeCache):
    """Several callers drain the event queue of the assume cache at the same time.

    One caller finds the queue empty while another has popped an event but not yet delivered it.
    Then `assume` returns before its effects are visible, the claim is removed from the in-flight
    claims, and for a moment its device is neither in flight nor allocated. Affects kube-scheduler
    1.32 to 1.35.0; fixed in 1.36 and in patch releases by exclusive emitting (kubernetes#136269,
    "fix one root cause of double device allocation").
    """

    facts = replacements.Facts(
        name="assume-cache-shared-drain",
        issues=("kubernetes#136269",),
        releases=replacements.Releases(
            first="1.32", last="1.35.0", fixed=("1.32.12", "1.33.8", "1.34.4")
        ),
        worlds=("pod-arrives-during-binding", "four-claims-two-devices"),
    )

    def _emit(self) -> None:
        while True:
            with concurrency.in_parts(self._changed):
                event = self._take_event()
            if event is None:
                return
            event.deliver()


class NotAtomicGatherer(gathering.Gatherer):
    """Allocated devices and in-flight claims are read in turn, without a check for changes.

    A claim that moves from in flight to allocated between the two reads is seen in neither. Affects
    kube-scheduler 1.32 to 1.35.0; fixed in 1.36 and in patch releases by a revision that is
    compared after both reads (kubernetes#136269, "fix another root cause of double device
    allocation").
    """

    facts = replacements.Facts(
        name="gather-not-atomic",
        issues=("kubernetes#136269",),
        releases=replacements.Releases(
            first="1.32", last="1.35.0", fixed=("1.32.12", "1.33.8", "1.34.4")
        ),
        worlds=("pod-arrives-during-binding", "four-claims-two-devices"),
    )

    def _is_current(self, revision: int) -> bool:
        del revision
        return True


class OverwrittenInFlightClaims(in_flight.InFlightClaims):
    """The second plan for a claim in flight takes the place of the first, which is the one written.

    Nothing keeps a pod from naming one claim in two of its entries. Each entry is planned with
    devices of its own, and `SignalClaimPendingAllocation` stores both plans under the claim's UID,
    the later one on top. `bindClaim` writes the first. Until the assume cache knows that, its
    devices are in neither set and may be given to another claim. Read in the sources up to 1.35.
    In 1.36 the first plan stays (kubernetes#137897, which is about pods that share a claim).
    """

    facts = replacements.Facts(
        name="in-flight-overwritten",
        issues=("kubernetes#137897",),
        releases=replacements.Releases(last="1.35"),
        worlds=("claim-named-twice",),
    )

    def _note(self, uid: str, claim: Object) -> bool:
        self._plans[uid] = 1
        self._claims[uid] = claim
        return True


class RemovedFirstBinder(claim_binding.ClaimBinder):
    """The claim leaves the in-flight claims before the assume cache knows its allocation.

    In between, the device is in neither set, and no comparison of revisions can detect that. This
    mutant of the fix of root cause B was never shipped; it shows why the order of the deferred
    calls in `bindClaim` matters.
    """

    facts = replacements.Facts(
        name="in-flight-removed-first",
        worlds=("two-claims-one-device", "pod-arrives-during-binding", "four-claims-two-devices"),
    )

    def _settle(self, uid: str, written: Object | None, *, was_planned: bool) -> None:
        if was_planned and written is not None:
            self._in_flight.remove(uid)
        self._assume(uid, written)


class BumpedLateDevices(allocated_devices.AllocatedDevices):
    """An insertion does not increase the revision; the next copy of the set does.

    A gather that copied the set before the insertion then still finds its revision current.
    Increasing the revision right after the lock was released is harmless, because `assume` waits
    for its events: the claim leaves the in-flight claims after that. The increase must be missing
    for longer. This mutant of the fix of root cause B was never shipped.
    """

    facts = replacements.Facts(
        name="revision-bumped-late",
        worlds=("pod-arrives-during-binding", "four-claims-two-devices"),
    )

    def __init__(self) -> None:
        super().__init__()
        self._owed = 0

    def get(self) -> tuple[allocated_states.AllocatedState, int]:
        """Return a copy of the set, and the revision, which is increased only now."""
        with self._guard:
            self._revision += self._owed
            self._owed = 0
            return self._state.copy(), self._revision

    def _bump(self) -> None:
        self._owed += 1


class ComparedEarlyGatherer(gathering.Gatherer):
    """The revision is compared too early: before the in-flight claims are read.

    A claim that moves from in flight to allocated after the comparison is seen in neither set. This
    mutant of the fix of root cause B was never shipped; it shows that the comparison must come
    last.
    """

    facts = replacements.Facts(
        name="revision-compared-early",
        worlds=("pod-arrives-during-binding", "four-claims-two-devices"),
    )

    def attempt(self) -> allocated_states.AllocatedState | None:
        """Gather once; conflicts during the second read are not detected."""
        in_use, revision = self._allocated.get()
        if not self._is_current(revision):
            return None
        concurrency.step("gather.devices.cloned", revision=revision, count=len(in_use.devices))
        self._add_in_flight(in_use)
        return in_use
