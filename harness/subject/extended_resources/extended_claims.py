"""The claim for a pod's extended resources: as it is made in memory, and as it is found again."""

from collections.abc import Callable

from harness import concurrency
from harness.client import apis, informers
from harness.model.objects import Object
from harness.subject.objects import claims

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
    """Return whether the claim has not been created yet."""
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
