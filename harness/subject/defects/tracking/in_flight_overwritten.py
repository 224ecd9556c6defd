"""A claim that a pod names twice, up to Kubernetes 1.35."""

from harness.model.objects import Object
from harness.subject.tracking import in_flight


class OverwrittenInFlightClaims(in_flight.InFlightClaims):
    """The second plan for a claim in flight takes the place of the first, which is the one written.

    Nothing keeps a pod from naming one claim in two of its entries. Each entry is planned with
    devices of its own, and `SignalClaimPendingAllocation` stores both plans under the claim's UID,
    the later one on top. `bindClaim` writes the first. Until the assume cache knows that, its
    devices are in neither set and may be given to another claim. Read in the sources up to 1.35.
    In 1.36 the first plan stays (kubernetes#137897, which is about pods that share a claim).
    """

    def _note(self, uid: str, claim: Object) -> bool:
        self._plans[uid] = 1
        self._claims[uid] = claim
        return True
