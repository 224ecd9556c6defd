"""Single writes of a ResourceClaim, besides that of its allocation.

Each may raise ApiError or TransportError unless its docstring says otherwise. A write that replaces
the claim conflicts if the claim has changed since it was read, because it carries the
resourceVersion.
"""

from typing import Any

from harness import concurrency
from harness.client import apis, transports
from harness.subject import claims

Object = dict[str, Any]


def add_finalizer(api: apis.Api, claim: Object) -> Object:
    """Return the claim with its finalizer, adding it first if necessary.

    A status update cannot change finalizers, so that adding it takes a separate write.
    """
    if claims.has_finalizer(claim):
        return claim
    finalizers = [*claim["metadata"].get("finalizers", ()), claims.FINALIZER]
    return api.update(apis.CLAIMS, claims.with_metadata(claim, finalizers=finalizers))


def remove_finalizer(api: apis.Api, claim: Object) -> Object:
    """Remove the finalizer of a claim that has it; return the claim as stored."""
    others = [item for item in claim["metadata"]["finalizers"] if item != claims.FINALIZER]
    return api.update(apis.CLAIMS, claims.with_metadata(claim, finalizers=others))


def remove_reservation(api: apis.Api, claim: Object, pod: Object) -> None:
    """Remove the pod from `reservedFor`; an error is only recorded as a step, as upstream."""
    uid = claims.uid_of(claim)
    patch = {
        "metadata": {"uid": uid},
        "status": {"reservedFor": [{"$patch": "delete", "uid": claims.uid_of(pod)}]},
    }
    try:
        api.patch(
            apis.CLAIMS,
            claim["metadata"]["name"],
            patch,
            namespace=claim["metadata"]["namespace"],
            kind=apis.PatchKind.STRATEGIC,
            subresource="status",
        )
    except (apis.ApiError, transports.TransportError) as error:
        concurrency.step("unreserve.failed", claim=uid, reason=str(error))
