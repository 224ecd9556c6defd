"""The life of a claim for extended resources: created, awaited, named in the pod's status, deleted.

Everything else is done as with every other claim.

After createExtendedResourceClaimInAPI, waitForExtendedClaimInAssumeCache, deleteClaim and
patchPodExtendedResourceClaimStatus in extendeddynamicresources.go. Each write may raise ApiError or
TransportError.
"""

from harness import concurrency
from harness.client import apis, transports
from harness.model.objects import Object
from harness.subject.objects import claims
from harness.subject.telemetry import klog
from harness.subject.tracking import assume_caches

CREATED, NOT_CREATED = "extended-claim.created", "extended-claim.not-created"
"""Steps after the creation of a claim; the scheduler's metric counts them."""
CONFLICT_TRIES = 5
"""Attempts to remove a claim's finalizer before giving up on 409 conflicts."""
CONFLICT_WAIT_S = 0.01
"""Wait between two of these attempts, in seconds."""
WAIT_S = 1.0
"""Wait between two attempts to assume a claim that the informer has not delivered, in seconds."""
WAIT_MAX_S = 120.0
"""Time limit for all attempts to assume a claim, in seconds."""
_ASSIGNED = ("name", "uid")
"""Metadata that the API server assigns."""


def create(api: apis.Api, claim: Object) -> Object:
    """Create a claim that was made in memory; return it as stored, with its generated name."""
    pod_uid = claims.controller_uid(claim)
    klog.info(5, "create claim for extended resources", resourceclaim=klog.Document(claim))
    metadata = {key: value for key, value in claim["metadata"].items() if key not in _ASSIGNED}
    wanted = {**claim, "metadata": metadata}
    try:
        created = api.create(apis.CLAIMS, wanted, namespace=claim["metadata"]["namespace"])
    except (apis.ApiError, transports.TransportError) as error:
        concurrency.step(NOT_CREATED, pod=pod_uid, reason=str(error))
        raise
    concurrency.step(CREATED, pod=pod_uid, claim=claims.uid_of(created))
    klog.info(5, "created claim for extended resources", resourceclaim=klog.Document(created))
    return created


def assume(cache: assume_caches.AssumeCache, claim: Object) -> None:
    """Assume a claim; wait until the informer has delivered it, since it is new.

    Otherwise its devices would be visible nowhere (kubernetes#133302). If the informer has
    delivered its deletion, too, there is nothing to wait for; upstream waits for the whole time.

    Raises AssumeError if the cache holds a newer version, the claim was deleted, or it has not come
    in 120 s.
    """
    deadline_s = concurrency.monotonic_s() + WAIT_MAX_S
    while not _is_assumed(cache, claim):
        concurrency.step("pre-bind.awaiting-informer", claim=claims.uid_of(claim))
        concurrency.sleep(WAIT_S)
        if concurrency.monotonic_s() >= deadline_s or cache.has_deleted(claim):
            cache.assume(claim)
            return


def record(api: apis.Api, pod: Object, claim: Object, mappings: list[Object]) -> None:
    """Name the claim in the pod's status, for the kubelet and the claim controller.

    It fails with a conflict for another pod of the same name.
    """
    meta = pod["metadata"]
    status = {
        "resourceClaimName": claim["metadata"]["name"],
        "requestMappings": mappings,
    }
    patch = {
        "metadata": {"uid": meta["uid"]},
        "status": {"extendedResourceClaimStatus": status},
    }
    api.patch(
        apis.PODS,
        meta["name"],
        patch,
        namespace=meta["namespace"],
        kind=apis.PatchKind.STRATEGIC,
        subresource="status",
    )


def delete(api: apis.Api, claim: Object) -> None:
    """Delete a claim after its finalizer; one that is gone is as good as deleted."""
    concurrency.step("extended-claim.deleting", claim=claims.uid_of(claim))
    meta = claim["metadata"]
    try:
        _remove_finalizer(api, claim)
        klog.info(5, "Delete", resourceclaim=claim)
        api.delete(apis.CLAIMS, meta["name"], namespace=meta["namespace"], uid=meta["uid"])
    except apis.ApiError as error:
        if not error.is_not_found:
            raise


def _is_assumed(cache: assume_caches.AssumeCache, claim: Object) -> bool:
    try:
        cache.assume(claim)
    except assume_caches.UnknownObjectError:
        return False
    return True


def _remove_finalizer(api: apis.Api, claim: Object) -> None:
    """Remove the finalizer, so that it does not hold up the deletion.

    The claim is written even without a finalizer: if it was changed meanwhile, as by a write whose
    answer was lost, that conflicts, and the claim is read again.
    """
    meta = claim["metadata"]
    for tries in range(CONFLICT_TRIES):
        if tries:
            concurrency.sleep(CONFLICT_WAIT_S)
            claim = api.get(apis.CLAIMS, meta["name"], namespace=meta["namespace"])
        kept = [
            item for item in claim["metadata"].get("finalizers", ()) if item != claims.FINALIZER
        ]
        try:
            api.update(apis.CLAIMS, claims.with_metadata(claim, finalizers=kept))
        except apis.ApiError as error:
            if not error.is_conflict or tries == CONFLICT_TRIES - 1:
                raise
        else:
            return
