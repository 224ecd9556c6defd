"""A mutant: the claim for extended resources is created, but its pod does not name it."""

from harness.subject.plugin import claim_binding, scheduling_attempts


class NotRecordedBinder(claim_binding.ClaimBinder):
    """PreBind leaves out the last write for extended resources: `extendedResourceClaimStatus`.

    The devices are allocated and reserved for the pod, and the pod is bound. But the kubelet learns
    of the claim only from the pod's status, so that it starts the containers without their devices.
    This mutant was never shipped; it shows that the write belongs before the binding.
    """

    def _record_extended(self, attempt: scheduling_attempts.Attempt) -> None:
        """Leave the pod's status as it is."""
