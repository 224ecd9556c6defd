"""Differences of the ResourceClaim controller in the releases 1.36.2 and 1.34.2."""

from collections.abc import Mapping
from typing import Any

from harness.client import apis
from harness.subject import claims, replacements
from harness.subject.claim_control import (
    controller_parts,
    enqueuing,
    generating,
    releasing,
)
from harness.subject.defects import claim_controller_defects
from harness.subject.releases import mutation_cache

Object = dict[str, Any]


# ------------------------------------------------------------------ up to 1.36.2


class SharedAnnotationsGenerator(generating.ClaimGenerator):
    """The annotation of a generated claim is put into the template's own map (kubernetes#141104).

    All workers share the template, if it has annotations: between writing the name of an entry and
    sending the claim, another worker can write the name of another entry. In Go that can also end
    the process. Open.
    """

    def _annotations(self, entry_name: str, from_template: Object) -> dict[str, str]:
        annotations: dict[str, str] = from_template.get("annotations") or {}
        annotations[claims.POD_CLAIM_NAME] = entry_name
        return annotations


# -------------------------------------------------------------------- only 1.34.2


class PodsOnlyReleaser(releasing.Releaser):
    """A consumer that is no pod stops the whole cleanup of its claim (kubernetes#136406).

    Stale reservations of pods beside it stay for ever. Fixed in 1.36: the consumer is kept, and the
    others are cleaned up.
    """

    def _may_run(self, entry: Object) -> bool:
        raise apis.ApiError(501, "NotImplemented", f"unsupported ReservedFor entry: {entry}")


class TemplatesNotFollowedEnqueuer(enqueuing.Enqueuer):
    """A new template does not enqueue the pods that wait for it; only their retries do."""

    def on_template(self, template: Object) -> None:
        """Ignore the template."""


class ExtendedClaimsIgnoredEnqueuer(enqueuing.Enqueuer):
    """Claims of extended resources are not those of a pod: only `spec.resourceClaims` counts.

    A finished pod keeps the devices of its extended resources until it is deleted.
    """

    def _claim_keys(self, pod: Object) -> list[str]:
        return list(claims.known_claim_keys(pod))


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
    "template-annotations-shared": _replaces("generator", SharedAnnotationsGenerator),
    "mutation-cache": _replaces("created", mutation_cache.MutationCache),
}
_UP_TO_1_34_2 = {
    "pods-only": _replaces("releaser", PodsOnlyReleaser),
    "templates-not-followed": _replaces("enqueuer", TemplatesNotFollowedEnqueuer),
    "extended-claims-ignored": _replaces("enqueuer", ExtendedClaimsIgnoredEnqueuer),
    "owner-deletion-blocked": _replaces("generator", BlockedOwnerGenerator),
}
BY_RELEASE: Mapping[str, Mapping[str, replacements.Replacement]] = {
    "1.34.2": {**_UP_TO_1_36_2, **_UP_TO_1_34_2},
    "1.36.2": _UP_TO_1_36_2,
}
"""The replacements of the controller by release, the oldest release first."""
