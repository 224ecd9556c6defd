"""Differences of the ResourceClaim controller in the releases 1.36.2 and 1.34.2."""

from collections.abc import Mapping
from typing import Any

from harness.model.objects import Object
from harness.subject import replacements
from harness.subject.claim_control import (
    controller_parts,
    enqueuing,
    generating,
)
from harness.subject.defects import claim_controller_defects
from harness.subject.defects.reported import controller_defects, mutation_cache

# -------------------------------------------------------------------- only 1.34.2


class TemplatesNotFollowedEnqueuer(enqueuing.Enqueuer):
    """A new template does not enqueue the pods that wait for it; only their retries do."""

    def on_template(self, template: Object) -> None:
        """Ignore the template."""


class BlockedOwnerGenerator(generating.ClaimGenerator):
    """The owner reference of a generated claim has `blockOwnerDeletion`.

    A foreground deletion of the pod then waits for the claim.
    """

    def _owner_reference(self, pod: Object) -> Object:
        return {**super()._owner_reference(pod), "blockOwnerDeletion": True}


def _replaces(part: str, replacement: type[Any]) -> replacements.Replacement:
    return replacements.Replacement(part, replacement, controller_parts.ControllerParts)


_UP_TO_1_36_2 = {
    "statuses-overwritten": _replaces("pod_syncer", claim_controller_defects.OverwritingPodSyncer),
    "finished-pods-synced": _replaces("pod_syncer", claim_controller_defects.FinishedPodSyncer),
    "template-annotations-shared": _replaces(
        "generator", controller_defects.SharedAnnotationsGenerator
    ),
    "mutation-cache": _replaces("created", mutation_cache.MutationCache),
}
_UP_TO_1_34_2 = {
    "pods-only": _replaces("releaser", controller_defects.PodsOnlyReleaser),
    "templates-not-followed": _replaces("enqueuer", TemplatesNotFollowedEnqueuer),
    "extended-claims-ignored": _replaces(
        "enqueuer", controller_defects.ExtendedClaimsIgnoredEnqueuer
    ),
    "owner-deletion-blocked": _replaces("generator", BlockedOwnerGenerator),
}
BY_RELEASE: Mapping[str, Mapping[str, replacements.Replacement]] = {
    "1.34.2": {**_UP_TO_1_36_2, **_UP_TO_1_34_2},
    "1.36.2": _UP_TO_1_36_2,
}
"""The replacements of the controller by release, the oldest release first."""
