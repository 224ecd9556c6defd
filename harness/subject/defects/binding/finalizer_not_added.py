"""A mutant: claims are allocated without the finalizer that protects them."""

from harness.model.objects import Object
from harness.subject.plugin import claim_binding


class FinalizerNotAddedBinder(claim_binding.ClaimBinder):
    """PreBind writes the allocation of a claim without adding the finalizer first.

    A user who deletes the claim then removes it at once, with the allocation, while its pod runs;
    the devices are given to another claim. `bindClaim` adds the finalizer in a write of its own,
    because an update of the status cannot. A mutant; no release is known to be affected.
    """

    def _protect(self, claim: Object) -> Object:
        return claim
