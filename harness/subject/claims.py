"""Reading and changing ResourceClaims and the pods that use them, as plain decoded JSON. Pure functions, no I/O."""

from collections.abc import Iterable, Iterator
from typing import Any

Object = dict[str, Any]
FINALIZER = "resource.kubernetes.io/delete-protection"
POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"
"""Annotation of a generated claim: which entry of the pod it is for."""


class Unresolved(Exception):  # noqa: N818 - a state, not an error
    """A claim of a pod cannot be used yet; says why."""


def uid_of(obj: Object) -> str:
    """metadata.uid"""
    return str(obj["metadata"]["uid"])


def is_deleting(obj: Object) -> bool:
    """Whether its deletion has begun."""
    return "deletionTimestamp" in obj["metadata"]


def allocation_of(claim: Object) -> Object | None:
    """status.allocation, None while it has none."""
    allocation: Object | None = claim.get("status", {}).get("allocation")
    return allocation


def reservations_of(claim: Object) -> list[Object]:
    """status.reservedFor"""
    return claim.get("status", {}).get("reservedFor") or []


def is_reserved_for(claim: Object, pod: Object) -> bool:
    """Whether the pod may use the claim."""
    return any(entry["uid"] == uid_of(pod) for entry in reservations_of(claim))


def has_finalizer(claim: Object) -> bool:
    """Whether the claim is protected from disappearing while devices are allocated for it."""
    return FINALIZER in claim["metadata"].get("finalizers", ())


def exclusive_devices(allocation: Object | None) -> Iterator[str]:
    """`driver/pool/device` of every device that nobody else may have; admin access and shares claim nothing."""
    for result in (allocation or {}).get("devices", {}).get("results", ()):
        if not result.get("adminAccess") and not result.get("shareID"):
            yield f"{result['driver']}/{result['pool']}/{result['device']}"


def with_metadata(obj: Object, **changes: Any) -> Object:
    """A copy with other metadata."""
    return {**obj, "metadata": {**obj["metadata"], **changes}}


def with_status(claim: Object, **changes: Any) -> Object:
    """A copy with another status; a value of None removes the field."""
    status = {**claim.get("status", {}), **changes}
    return {**claim, "status": {key: value for key, value in status.items() if value is not None}}


def with_reservation(claim: Object, pod: Object) -> Object:
    """A copy that is reserved for the pod too."""
    entry = {"resource": "pods", "name": pod["metadata"]["name"], "uid": uid_of(pod)}
    return with_status(claim, reservedFor=[*reservations_of(claim), entry])


def controller_uid(obj: Object) -> str | None:
    """The uid of the object that controls this one."""
    for reference in obj["metadata"].get("ownerReferences", ()):
        if reference.get("controller"):
            return str(reference["uid"])
    return None


def is_for(claim: Object, pod: Object) -> bool:
    """Whether the claim was generated for this very pod."""
    return controller_uid(claim) == uid_of(pod)


def entries_of(pod: Object) -> list[Object]:
    """spec.resourceClaims"""
    return pod["spec"].get("resourceClaims") or []


def recorded_names(pod: Object) -> dict[str, str | None]:
    """The claim generated for each entry that has one, by pod.status.resourceClaimStatuses."""
    statuses = pod.get("status", {}).get("resourceClaimStatuses") or []
    return {status["name"]: status.get("resourceClaimName") for status in statuses}


def claim_names(pod: Object) -> Iterator[tuple[str, bool]]:
    """(claim name, must it be owned by the pod) of every entry that needs a claim; Unresolved when one is not there yet."""
    recorded = recorded_names(pod)
    for entry in entries_of(pod):
        if "resourceClaimName" in entry:
            yield entry["resourceClaimName"], False
        elif entry["name"] not in recorded:
            raise Unresolved(f"the claim for {entry['name']!r} is not created yet")
        elif (name := recorded[entry["name"]]) is not None:
            yield name, True


def known_claim_keys(pod: Object) -> Iterable[str]:
    """`namespace/name` of the claims that are known to be the pod's, whether they can be used yet or not."""
    recorded = recorded_names(pod)
    names = (
        entry.get("resourceClaimName") or recorded.get(entry["name"]) for entry in entries_of(pod)
    )
    return [f"{pod['metadata']['namespace']}/{name}" for name in names if name]


def is_done(pod: Object) -> bool:
    """Whether the pod will not run (any more)."""
    if pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        return True
    return is_deleting(pod) and not pod["spec"].get("nodeName")
