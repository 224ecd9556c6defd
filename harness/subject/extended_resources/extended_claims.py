"""The claim for a pod's extended resources: made in memory, created, awaited, named, deleted.

After createExtendedResourceClaimInAPI, waitForExtendedClaimInAssumeCache, deleteClaim and
patchPodExtendedResourceClaimStatus in extendeddynamicresources.go. Each write may raise ApiError or
TransportError. Everything else is done as with every other claim.
"""

from collections.abc import Callable

from harness import concurrency
from harness.client import apis, informers
from harness.model.objects import Object
from harness.subject.objects import claims
from harness.subject.tracking import assume_caches

ANNOTATION = "resource.kubernetes.io/extended-resource-claim"
"""Annotation with the value `true` of a claim that the scheduler made for extended resources."""
IN_MEMORY_NAME = "<extended-resources>"
"""Name of a claim that has not been created; no claim of the API can have it."""


def in_memory(pod: Object) -> Object:
    """Return the pod's claim as it is before its creation, without requests.

    Its temporary UID is made of the pod's, as a pod has one attempt at a time, so that the same
    schedule always shows the same UIDs.
    """
    meta = pod["metadata"]
    owner = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
    }
    return {
        "apiVersion": apis.CLAIMS.api_version,
        "kind": apis.CLAIMS.kind,
        "metadata": {
            "name": IN_MEMORY_NAME,
            "generateName": f"{meta['name']}-extended-resources-",
            "namespace": meta["namespace"],
            "uid": f"{meta['uid']}-extended-resources",
            "annotations": {ANNOTATION: "true"},
            "ownerReferences": [owner],
        },
        "spec": {},
    }


def with_requests(claim: Object, requests: list[Object]) -> Object:
    """Return a copy of a claim that was made in memory, with device requests."""
    return {**claim, "spec": {"devices": {"requests": requests}}}


def is_in_memory(claim: Object) -> bool:
    return bool(claim["metadata"]["name"] == IN_MEMORY_NAME)


def is_extended(claim: Object) -> bool:
    """Return whether the scheduler made the claim for extended resources."""
    return (claim["metadata"].get("annotations") or {}).get(ANNOTATION) == "true"


class ExtendedClaimIndex(informers.StateHandler):
    """The created claims for extended resources by their pods; an event handler of the informer.

    Upstream looks through all claims of the assume cache instead.
    """

    def __init__(self, on_gone: Callable[[], None] = lambda: None) -> None:
        """`on_gone()` is called when a claim is gone that was in the way of its pod's attempt."""
        self._on_gone = on_gone
        self._guard = concurrency.lock("extended-claim-index")
        self._claims: dict[str, dict[str, Object]] = {}
        """Keyed by UID of the pod, then by UID of the claim."""
        self._in_the_way: set[str] = set()
        """UIDs of the pods whose attempts have met a claim."""

    def of_pod(self, pod: Object) -> Object | None:
        """Return the claim that an earlier attempt made for the pod; None: there is none."""
        uid = claims.uid_of(pod)
        with self._guard:
            found = self._claims.get(uid)
            if not found:
                return None
            self._in_the_way.add(uid)
            return next(iter(found.values()))

    def on_state(self, obj: Object) -> None:
        owner = claims.controller_uid(obj)
        if owner is not None and is_extended(obj):
            with self._guard:
                self._claims.setdefault(owner, {})[claims.uid_of(obj)] = obj

    def on_delete(self, last: Object) -> None:
        owner = claims.controller_uid(last) or ""
        with self._guard:
            known = self._claims.get(owner, {})
            known.pop(claims.uid_of(last), None)
            if known:
                return
            self._claims.pop(owner, None)
            was_in_the_way = owner in self._in_the_way
            self._in_the_way.discard(owner)
        if was_in_the_way:
            self._on_gone()


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
    metadata = {key: value for key, value in claim["metadata"].items() if key not in _ASSIGNED}
    wanted = {**claim, "metadata": metadata}
    return api.create(apis.CLAIMS, wanted, namespace=claim["metadata"]["namespace"])


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
    """Name the claim in the pod's status, for the kubelet and the claim controller."""
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
