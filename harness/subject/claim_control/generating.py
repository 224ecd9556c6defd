"""Builds the claims generated from ResourceClaimTemplates.

After pkg/controller/resourceclaim/controller.go. A pod gets one claim for each entry in its
`spec.resourceClaims` that names a template.
"""

from harness.client import apis
from harness.model.objects import Object
from harness.subject.objects import claims, pod_groups


class NotRecorded(Exception):  # noqa: N818 - a state, not an error
    """The pod's status has no claim for an entry that names a template."""


def has_template(entry: Object) -> bool:
    return "resourceClaimTemplateName" in entry


def name_of(pod: Object, entry: Object) -> str | None:
    """Return the name of an entry's claim, None if it needs none. Raises NotRecorded."""
    if "resourceClaimName" in entry:
        return str(entry["resourceClaimName"])
    recorded = claims.recorded_names(pod)
    if entry["name"] not in recorded:
        raise NotRecorded(entry["name"])
    return recorded[entry["name"]]


def key_of(pod: Object, claim_name: str) -> str:
    return f"{pod['metadata']['namespace']}/{claim_name}"


def extended_claim_keys(pod: Object) -> list[str]:
    status = pod.get("status", {}).get("extendedResourceClaimStatus") or {}
    name = status.get("resourceClaimName")
    return [key_of(pod, name)] if name else []


def owning_pod(claim: Object) -> tuple[str, str] | None:
    """Return name and UID of the pod that controls the claim, None if no pod does."""
    for reference in claim["metadata"].get("ownerReferences", ()):
        is_pod = reference.get("kind") == "Pod" and reference.get("apiVersion") == "v1"
        if reference.get("controller") and is_pod:
            return str(reference["name"]), str(reference["uid"])
    return None


def needs_reservation(claim: Object, user: Object) -> bool:
    """Return whether a bound pod's claim is allocated, but not reserved for its user."""
    return (
        claims.allocation_of(claim) is not None
        and not claims.is_deleting(claim)
        and not claims.is_reserved_for(claim, user)
    )


_NAME_BASE_MAX = 57
"""Maximum length of `generateName`, in characters.

It leaves space for a hyphen and 5 random characters in a name of 63 characters.
"""


class ClaimGenerator:
    """Builds generated claims; it has no state."""

    def generated_claim(self, owner: Object, entry_name: str, template: Object) -> Object:
        from_template = template["spec"].get("metadata") or {}
        return {
            "apiVersion": apis.CLAIMS.api_version,
            "kind": apis.CLAIMS.kind,
            "metadata": {
                "generateName": name_base(owner["metadata"]["name"], entry_name),
                "labels": from_template.get("labels") or {},
                "annotations": self._annotations(entry_name, from_template),
                "ownerReferences": [self._owner_reference(owner)],
            },
            "spec": template["spec"]["spec"],
        }

    def _annotations(self, entry_name: str, from_template: Object) -> dict[str, str]:
        """Return annotations of the claim's own: those of the template are shared with others."""
        return {**(from_template.get("annotations") or {}), claims.POD_CLAIM_NAME: entry_name}

    def _owner_reference(self, owner: Object) -> Object:
        meta, resource = owner["metadata"], resource_of(owner)
        return {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "name": meta["name"],
            "uid": meta["uid"],
            "controller": True,
        }


def resource_of(owner: Object) -> apis.Resource:
    return apis.POD_GROUPS if pod_groups.is_group(owner) else apis.PODS


def name_base(pod_name: str, entry_name: str) -> str:
    """Return `<pod>-<entry>-`; if it is too long, both names are shortened in proportion.

    The last hyphen is then missing, as upstream. Long names can give a base that the API server
    refuses, because it begins with a hyphen or has one beside a dot; that is upstream's, too.
    """
    base = f"{pod_name}-{entry_name}-"
    if len(base) <= _NAME_BASE_MAX:
        return base
    pod_room = len(pod_name) * _NAME_BASE_MAX // len(base)
    entry_room = len(entry_name) * _NAME_BASE_MAX // len(base)
    return f"{pod_name[:pod_room]}-{entry_name[:entry_room]}"
