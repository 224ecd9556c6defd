"""A mutant: `bindClaim` with its two deferred calls in the wrong order."""

from harness.model.objects import Object
from harness.subject.plugin import claim_binding


class RemovedFirstBinder(claim_binding.ClaimBinder):
    """The claim leaves the in-flight claims before the assume cache knows its allocation.

    In between, the device is in neither set, and no comparison of revisions can detect that. This
    mutant of the fix of root cause B was never shipped; it shows why the order of the deferred
    calls in `bindClaim` matters.
    """

    def _settle(self, uid: str, written: Object | None, *, was_planned: bool) -> None:
        if was_planned and written is not None:
            self._in_flight.remove(uid)
        self._assume(uid, written)
