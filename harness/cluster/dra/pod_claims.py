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
    entry: str = ""
    """Name of its entry in `spec.resourceClaims`; empty: it is for extended resources."""


def of(pod: Object) -> list[PodClaim]:
    """Return the claims of a pod.

    They include the one that a scheduler created for the pod's extended resources. An entry for
    which the controller found that no claim is needed is left out.
    """
    status = pod.get("status") or {}
    generated = {
        entry["name"]: entry.get("resourceClaimName")
        for entry in status.get("resourceClaimStatuses") or []
    }
    claims = []
    for entry in pod["spec"].get("resourceClaims") or []:
        named = entry.get("resourceClaimName")
        name = named or generated.get(entry["name"], UNKNOWN_NAME)
        if name is not None:
            claims.append(PodClaim(name, generated=not named, entry=entry["name"]))
    if extended := status.get("extendedResourceClaimStatus"):
        claims.append(PodClaim(extended["resourceClaimName"], generated=True))
    return claims


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
