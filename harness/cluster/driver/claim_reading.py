"""Reads the claims that a kubelet names from the API server, as upstream's helper for drivers does.

A kubelet may be late: its call then is about a claim that is gone, that another one has replaced,
or that no pod uses any longer (the helper does not look at that).
"""

from harness import errors
from harness.client import apis
from harness.cluster.kubelet_api import preparations
from harness.model.objects import Object


class ClaimReader:
    """Reads claims. Thread-safe."""

    def __init__(self, api: apis.Api) -> None:
        self._api = api

    def read(self, claim: preparations.ClaimReference) -> Object:
        """Return the claim of this uid, which is allocated and reserved.

        Raises PreparationError if there is none, or the API server does not answer.
        """
        try:
            found = self._api.get(apis.CLAIMS, claim.name, namespace=claim.namespace)
        except errors.HarnessError as error:
            raise preparations.PreparationError(
                "NotRead", f"cannot read claim {claim.namespace}/{claim.name}: {error}"
            ) from error
        self._require_usable(found, claim)
        return found

    def _require_usable(self, found: Object, claim: preparations.ClaimReference) -> None:
        """Raise PreparationError if this is another claim of the name, or no pod may use it."""
        place = f"claim {claim.namespace}/{claim.name}"
        if found["metadata"]["uid"] != claim.uid:
            raise preparations.PreparationError(
                "Replaced", f"{place} was replaced: it does not have the uid {claim.uid} any more"
            )
        status = found.get("status") or {}
        if not status.get("allocation"):
            raise preparations.PreparationError("NotAllocated", f"{place} is not allocated")
        if not status.get("reservedFor"):
            raise preparations.PreparationError("NotReserved", f"{place} is reserved for no pod")
