"""Differences of the ResourceClaim controller in the releases up to 1.35."""

from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.claim_control import (
    enqueuing,
    eviction_times,
    generating,
    taint_evictors,
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


class NamedEffectsEvictor(taint_evictors.TaintEvictor):
    """A toleration keeps a pod only if its effect is NoExecute, not if it has none (hazard H23).

    The API says of the effect: "Empty means match all taint effects". The scheduler gives such a
    claim a device with a NoExecute taint, and the controller deletes its pod at once.
    """

    facts = replacements.Facts(
        name="effectless-tolerations-evicted",
        releases=replacements.Releases(first="1.33", last="1.36.3", is_open=True),
    )

    def _tolerations(self, result: Object) -> list[Object]:
        listed = super()._tolerations(result)
        return [item for item in listed if item.get("effect") == eviction_times.NO_EXECUTE]
