"""A remedy for hypothesis H21: Unreserve restores a claim that was written."""

from harness import concurrency
from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.objects import claims
from harness.subject.plugin import claim_binding


class RestoreUnwrittenBinder(claim_binding.ClaimBinder):
    """Unreserve restores only what was not written.

    Hypothesis H21. Since 1.37 in development (kubernetes#139418) a claim stays in flight until
    PreBind has succeeded. If it fails for another reason than the write of this claim, `Unreserve`
    (pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go) takes the claim out of
    flight and calls AssumedClaimRestore. That discards what `bindClaim` has just assumed: the
    allocation that the API server has.

    Upstream could do this: remember that the allocation was written, and leave out the restore. The
    assumed version is at least as new as that of the informer.

    Why it is enough: when the claim leaves the claims in flight, the assume cache has the written
    allocation, as after a PreBind that has succeeded. A claim that was not written was not assumed
    either, so that for it nothing changes. It costs no request.

    Not covered: a write whose outcome is unknown (H1).
    """

    facts = replacements.Facts(name="restore-only-unwritten")

    def _restore(self, claim: Object) -> None:
        """Return to what the informer knows, unless the claim was written."""
        if claims.allocation_of(claim):
            concurrency.step("remedy.not-restored", claim=claims.uid_of(claim))
        else:
            super()._restore(claim)
