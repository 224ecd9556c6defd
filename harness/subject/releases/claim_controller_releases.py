"""Differences of the ResourceClaim controller in the releases up to 1.35."""

from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.claim_control import (
    enqueuing,
    generating,
)


class TemplatesNotFollowedEnqueuer(enqueuing.Enqueuer):
    """A new template does not enqueue the pods that wait for it; only their retries do."""

    facts = replacements.Facts(
        name="templates-not-followed",
        releases=replacements.Releases(last="1.35"),
    )

    def on_template(self, template: Object) -> None:
        """Ignore the template."""


class BlockedOwnerGenerator(generating.ClaimGenerator):
    """The owner reference of a generated claim has `blockOwnerDeletion`.

    A foreground deletion of the pod then waits for the claim.
    """

    facts = replacements.Facts(
        name="owner-deletion-blocked",
        releases=replacements.Releases(last="1.34"),
    )

    def _owner_reference(self, pod: Object) -> Object:
        return {**super()._owner_reference(pod), "blockOwnerDeletion": True}
