"""The claim for extended resources as it was assumed at first (kubernetes#133302)."""

from harness.model.objects import Object
from harness.subject.plugin import claim_binding


class NotAwaitedBinder(claim_binding.ClaimBinder):
    """A claim that was just created is assumed once, whether the informer has delivered it or not.

    The assume cache refuses a claim that it does not know, and the claim leaves the in-flight
    claims all the same. Until the informer delivers it, its devices look free. The first code for
    extended resources in kube-scheduler did this; since August 2025 (1.34) the claim is awaited
    (kubernetes#133302, kubernetes#133321).
    """

    def _put_into_cache(self, written: Object) -> None:
        self._cache.assume(written)
