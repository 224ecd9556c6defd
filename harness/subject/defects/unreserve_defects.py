"""A known defect of Unreserve: what it restores in the assume cache."""

from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.objects import claims
from harness.subject.plugin import claim_binding, scheduling_attempts


class RestoresWrittenClaimBinder(claim_binding.ClaimBinder):
    """Unreserve restores a claim that was written, so that its devices look free.

    Hypothesis H21. A claim stays in flight until the whole of PreBind has succeeded. If PreBind
    fails after the claim was written and assumed (the pod's second claim, the patch of the pod's
    status, a binding condition), Unreserve still finds it in flight, removes it, and takes the
    assume cache back to the version from before the allocation. Until the event of a newer version
    comes, the device is in neither book.

    Since 1.37 in development (kubernetes#139418): `PreBind` with `prebindSuccessCleanup` of
    `bindClaim`, and `Unreserve`, in
    pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go. Before, a written claim
    left the claims in flight at once, so that nothing was restored.
    """

    facts = replacements.Facts(
        name="unreserve-restores-written-claim",
        issues=("kubernetes#139418",),
        releases=replacements.Releases(first="1.37", last="1.37", is_open=True),
        worlds=("second-claim-deleted",),
    )

    def _settle(self, uid: str, written: Object | None, *, was_planned: bool) -> None:
        del was_planned
        self._assume(uid, written)

    def finish(self, attempt: scheduling_attempts.Attempt) -> None:
        """Take the claims of the attempt out of flight."""
        for index in attempt.planned:
            self._in_flight.remove(claims.uid_of(attempt.claims[index]))
