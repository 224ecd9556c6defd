"""Which ResourceClaims a pod needs, and whether a claim is usable for it."""

from typing import NamedTuple

from harness.model.objects import Object

UNKNOWN_NAME = "(not created yet)"
"""Stands for the name of a generated claim that the pod's status does not name yet."""


class PodClaim(NamedTuple):
    """One claim of a pod."""

    name: str
    """Name of the claim in the pod's namespace, or UNKNOWN_NAME."""
    generated: bool
    """The claim was created for this pod and must be owned by it."""


def of(pod: Object) -> list[PodClaim]:
    """Return the claims of a pod.

    They include the one that a scheduler created for the pod's extended resources. An entry for
    which the controller found that no claim is needed is left out.
    """
    status = pod.get("status") or {}
    generated = _generated(status)
    claims = []
    for entry in pod["spec"].get("resourceClaims") or []:
        named = entry.get("resourceClaimName")
        name = named or generated.get(entry["name"], UNKNOWN_NAME)
        if name is not None:
            claims.append(PodClaim(name, generated=not named))
    extended = status.get("extendedResourceClaimStatus")
    return (
        [*claims, PodClaim(extended["resourceClaimName"], generated=True)] if extended else claims
    )


def by_entry(pod: Object) -> list[tuple[str, str]]:
    """Return the names of the entries of `spec.resourceClaims`, each with its claim's name.

    Entries without a claim are left out.
    """
    generated = _generated(pod.get("status") or {})
    entries = pod["spec"].get("resourceClaims") or []
    named = [(one["name"], one.get("resourceClaimName")) for one in entries]
    return [(entry, claim) for entry, name in named if (claim := name or generated.get(entry))]


def extended_mappings(pod: Object) -> list[tuple[str, Object]]:
    """Return which container uses which request of the claim for extended resources.

    Each entry of the pod's `requestMappings` comes with the name of that claim.
    """
    status = (pod.get("status") or {}).get("extendedResourceClaimStatus") or {}
    return [
        (status["resourceClaimName"], mapping) for mapping in status.get("requestMappings") or []
    ]


def _generated(status: Object) -> dict[str, str | None]:
    """Return entry -> name of the claim generated for it; None: it needs none."""
    return {
        entry["name"]: entry.get("resourceClaimName")
        for entry in status.get("resourceClaimStatuses") or []
    }


def is_for(claim: Object, pod: Object) -> bool:
    """Return whether a generated claim was created for this pod, or for its PodGroup.

    The controller of the claim is the pod; or a group, of which a pod knows the name only.
    """
    group = group_of(pod)
    return any(
        owner["uid"] == pod["metadata"]["uid"]
        or (group is not None and (owner["kind"], owner["name"]) == ("PodGroup", group))
        for owner in claim["metadata"].get("ownerReferences") or []
        if owner.get("controller")
    )


def group_of(pod: Object) -> str | None:
    name: str | None = (pod["spec"].get("schedulingGroup") or {}).get("podGroupName")
    return name


def is_allocated(claim: Object) -> bool:
    return (claim.get("status") or {}).get("allocation") is not None


def is_reserved(claim: Object, pod: Object) -> bool:
    group = group_of(pod)
    return any(
        entry["uid"] == pod["metadata"]["uid"]
        or (group is not None and (entry["resource"], entry["name"]) == ("podgroups", group))
        for entry in (claim.get("status") or {}).get("reservedFor") or []
    )
