"""Single writes of a ResourceClaim, besides that of its allocation.

Each may raise ApiError or TransportError unless its docstring says otherwise. A write that replaces
the claim conflicts if the claim has changed since it was read, because it carries the
resourceVersion.
"""

from harness import concurrency
from harness.client import apis, transports
from harness.model.objects import Object
from harness.subject.objects import claims


def add_finalizer(api: apis.Api, claim: Object) -> Object:
    """Return the claim with its finalizer; adding it takes a write of its own."""
    if claims.has_finalizer(claim):
        return claim
    finalizers = [*claim["metadata"].get("finalizers", ()), claims.FINALIZER]
    return api.update(apis.CLAIMS, claims.with_metadata(claim, finalizers=finalizers))


def remove_finalizer(api: apis.Api, claim: Object) -> Object:
    """Remove the finalizer of a claim that has it; return the claim as stored."""
    others = [item for item in claim["metadata"]["finalizers"] if item != claims.FINALIZER]
    return api.update(apis.CLAIMS, claims.with_metadata(claim, finalizers=others))


def reserve_by_update(api: apis.Api, claim: Object, user: Object) -> Object:
    """Reserve the claim for the pod or PodGroup by replacing its status; return it as stored."""
    return api.update_status(apis.CLAIMS, claims.with_reservation(claim, user))


def reserve_by_patch(api: apis.Api, claim: Object, user: Object) -> Object:
    """Add a reservation for the pod to whatever the claim has become; return it as stored.

    As kube-scheduler did until kubernetes#124931 (a strategic merge patch since kubernetes#121876).
    The patch has no resourceVersion and names the claim by its UID, so that it conflicts with no
    other writer, and succeeds if and only if the patched claim is valid. It is not if the claim is
    another one of the same name, has lost its allocation, is being deleted, or has no place left.
    """
    return _patch_reservations(api, claim, claims.reservation_of(user))


def remove_reservation(api: apis.Api, claim: Object, pod: Object) -> Object | None:
    """Remove the pod from `reservedFor`; an error is only recorded as a step, as upstream."""
    try:
        return _patch_reservations(api, claim, {"$patch": "delete", "uid": claims.uid_of(pod)})
    except (apis.ApiError, transports.TransportError) as error:
        concurrency.step("unreserve.failed", claim=claims.uid_of(claim), reason=str(error))
        return None


def _patch_reservations(api: apis.Api, claim: Object, entry: Object) -> Object:
    """Change one entry of `reservedFor`, which is a map by the pods' UIDs."""
    meta = claim["metadata"]
    return api.patch(
        apis.CLAIMS,
        meta["name"],
        {"metadata": {"uid": meta["uid"]}, "status": {"reservedFor": [entry]}},
        namespace=meta["namespace"],
        kind=apis.PatchKind.STRATEGIC,
        subresource="status",
    )
