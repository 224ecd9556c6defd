"""Pure functions that read and change ResourceClaims, and the pods that use them, as decoded JSON.

After k8s.io/dynamic-resource-allocation/resourceclaim.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from harness.model.objects import Object
from harness.subject.objects import pod_groups

FINALIZER = "resource.kubernetes.io/delete-protection"
"""Finalizer that the scheduler adds before it allocates a claim."""
RESERVATIONS_MAX = 256
"""Number of pods for which one claim can be reserved (ResourceClaimReservedForMaxSize)."""
POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"
"""Annotation of a generated claim: the name of its entry in the pod's `spec.resourceClaims`."""


class Unresolved(Exception):  # noqa: N818 - a state, not an error
    """A claim of a pod cannot be used yet; the message gives the reason."""


def uid_of(obj: Object) -> str:
    return str(obj["metadata"]["uid"])


def is_deleting(obj: Object) -> bool:
    return "deletionTimestamp" in obj["metadata"]


def allocation_of(claim: Object) -> Object | None:
    allocation: Object | None = claim.get("status", {}).get("allocation")
    return allocation


def has_same_allocation(claim: Object, other: Object) -> bool:
    """Return whether two versions of a claim have the same devices on the same nodes."""
    known, current = (allocation_of(item) or {} for item in (claim, other))
    return all(known.get(key) == current.get(key) for key in ("devices", "nodeSelector"))


def reservations_of(claim: Object) -> list[Object]:
    return claim.get("status", {}).get("reservedFor") or []


def is_reserved_for(claim: Object, user: Object) -> bool:
    return any(entry["uid"] == uid_of(user) for entry in reservations_of(claim))


def has_finalizer(claim: Object) -> bool:
    return FINALIZER in claim["metadata"].get("finalizers", ())


def exclusive_devices(allocation: Object | None) -> Iterator[str]:
    """Yield `driver/pool/device` of each result without `adminAccess` and `shareID`."""
    for result in (allocation or {}).get("devices", {}).get("results", ()):
        if not result.get("adminAccess") and not result.get("shareID"):
            yield f"{result['driver']}/{result['pool']}/{result['device']}"


def shares(allocation: Object | None) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield (`driver/pool/device`, share ID, consumed capacity) of each share but for admins."""
    for result in (allocation or {}).get("devices", {}).get("results", ()):
        if result.get("shareID") and not result.get("adminAccess"):
            device = f"{result['driver']}/{result['pool']}/{result['device']}"
            yield device, result["shareID"], result.get("consumedCapacity") or {}


def with_metadata(obj: Object, **changes: Any) -> Object:
    return {**obj, "metadata": {**obj["metadata"], **changes}}


def with_status(claim: Object, **changes: Any) -> Object:
    """Return a copy with changed status; a value of None removes the field."""
    status = {**claim.get("status", {}), **changes}
    return {**claim, "status": {key: value for key, value in status.items() if value is not None}}


def reservation_of(user: Object) -> Object:
    entry = {"resource": "pods", "name": user["metadata"]["name"], "uid": uid_of(user)}
    if pod_groups.is_group(user):
        entry |= {"apiGroup": pod_groups.API_GROUP, "resource": pod_groups.PLURAL}
    return entry


def with_reservation(claim: Object, user: Object) -> Object:
    return with_status(claim, reservedFor=[*reservations_of(claim), reservation_of(user)])


def controller_uid(obj: Object) -> str | None:
    """Return the UID of the controlling owner, or None if there is none."""
    for reference in obj["metadata"].get("ownerReferences", ()):
        if reference.get("controller"):
            return str(reference["uid"])
    return None


def is_for(claim: Object, pod: Object) -> bool:
    """Return whether the claim was generated for this pod (by its UID) or for its PodGroup."""
    return controller_uid(claim) == uid_of(pod) or pod_groups.controls(claim, pod)


def entries_of(pod: Object) -> list[Object]:
    return pod["spec"].get("resourceClaims") or []


def recorded_names(pod: Object) -> dict[str, str | None]:
    """Return the claim's name by entry, None if it needs none, of those in the pod's status."""
    statuses = pod.get("status", {}).get("resourceClaimStatuses") or []
    return {status["name"]: status.get("resourceClaimName") for status in statuses}


def claim_names(pod: Object) -> Iterator[tuple[str, bool]]:
    """Yield (name, whether the pod must own it) of each claim. Raises Unresolved."""
    recorded = recorded_names(pod)
    for entry in entries_of(pod):
        if "resourceClaimName" in entry:
            yield entry["resourceClaimName"], False
        elif entry["name"] not in recorded:
            raise Unresolved(f"the claim for {entry['name']!r} is not created yet")
        elif (name := recorded[entry["name"]]) is not None:
            yield name, True


def users_of(pod: Object, group: Object | None) -> list[Object]:
    """Return the pod or its group for each claim of `of_pod`: that for which it is reserved."""
    recorded = recorded_names(pod)
    needed = (
        entry
        for entry in entries_of(pod)
        if "resourceClaimName" in entry or recorded.get(entry["name"]) is not None
    )
    return [group if group and pod_groups.has_entry(group, entry) else pod for entry in needed]


def known_claim_keys(pod: Object) -> Iterable[str]:
    """Return `namespace/name` of the pod's claims that are known, usable or not."""
    recorded = recorded_names(pod)
    names = (
        entry.get("resourceClaimName") or recorded.get(entry["name"]) for entry in entries_of(pod)
    )
    return [f"{pod['metadata']['namespace']}/{name}" for name in names if name]


def is_done(pod: Object) -> bool:
    """Return whether the pod has ended, or is deleted before it was bound."""
    if pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        return True
    return is_deleting(pod) and not pod["spec"].get("nodeName")


Lookup = Callable[[str], Object | None]
"""Returns the claim of a key `namespace/name`; None if there is none."""


def of_pod(pod: Object, lookup: Lookup) -> list[Object]:
    """Return the pod's claims. Raises Unresolved if one of them cannot be used yet."""
    return [_usable(pod, name, lookup, must_own=must_own) for name, must_own in claim_names(pod)]


def why_unusable(pod: Object, lookup: Lookup) -> str | None:
    """Return why a claim of the pod cannot be used yet; None if all can."""
    try:
        of_pod(pod, lookup)
    except Unresolved as reason:
        return str(reason)
    return None


def _usable(pod: Object, name: str, lookup: Lookup, *, must_own: bool) -> Object:
    claim = lookup(f"{pod['metadata']['namespace']}/{name}")
    if claim is None:
        raise Unresolved(f"resourceclaim {name!r} not found")
    if is_deleting(claim):
        raise Unresolved(f"resourceclaim {name!r} is being deleted")
    if must_own and not is_for(claim, pod):
        raise Unresolved(f"resourceclaim {name!r} was not created for the pod")
    return claim
