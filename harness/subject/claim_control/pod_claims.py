"""Pure functions about the claims of a pod, as the controller reads them.

After k8s.io/dynamic-resource-allocation/resourceclaim: `claims` has what the scheduler needs, too.
"""

from harness.model.objects import Object
from harness.subject.objects import claims


class NotRecorded(Exception):  # noqa: N818 - a state, not an error
    """The pod's status has no claim for an entry that names a template."""


def has_template(entry: Object) -> bool:
    """Return whether the claim of the entry is generated from a template."""
    return "resourceClaimTemplateName" in entry


def name_of(pod: Object, entry: Object) -> str | None:
    """Return the name of an entry's claim, None if the pod's status says that it needs none.

    Raises NotRecorded if the claim of a template is not recorded in the pod's status.
    """
    if "resourceClaimName" in entry:
        return str(entry["resourceClaimName"])
    recorded = claims.recorded_names(pod)
    if entry["name"] not in recorded:
        raise NotRecorded(entry["name"])
    return recorded[entry["name"]]


def extended_claim_name(pod: Object) -> str | None:
    """Return the claim that the scheduler created for the pod's extended resources, or None."""
    status = pod.get("status", {}).get("extendedResourceClaimStatus") or {}
    name: str | None = status.get("resourceClaimName")
    return name


def key_of(pod: Object, claim_name: str) -> str:
    """Return `namespace/name` of a claim in the pod's namespace."""
    return f"{pod['metadata']['namespace']}/{claim_name}"


def extended_claim_keys(pod: Object) -> list[str]:
    """Return `namespace/name` of the claim for extended resources, in a list of at most one."""
    name = extended_claim_name(pod)
    return [key_of(pod, name)] if name else []


def owning_pod(claim: Object) -> tuple[str, str] | None:
    """Return name and UID of the pod that controls the claim, None if no pod does."""
    for reference in claim["metadata"].get("ownerReferences", ()):
        is_pod = reference.get("kind") == "Pod" and reference.get("apiVersion") == "v1"
        if reference.get("controller") and is_pod:
            return str(reference["name"]), str(reference["uid"])
    return None


def needs_reservation(claim: Object, pod: Object) -> bool:
    """Return whether the claim of a bound pod is allocated, but not reserved for the pod."""
    return (
        claims.allocation_of(claim) is not None
        and not claims.is_deleting(claim)
        and not claims.is_reserved_for(claim, pod)
    )
