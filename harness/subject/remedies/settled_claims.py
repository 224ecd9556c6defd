"""A claim in a version that no write under way can replace: the common part of two remedies.

A write of an allocation carries the resourceVersion that its sender had read. It can be committed
only while that is the version of the claim. So its fate is settled as soon as a read that is
answered from the newest state (a GET or a list without a resourceVersion, which etcd confirms)
shows any other version: either the write is part of what was read, or it will conflict for ever.
If the read still shows that version, the write may be under way, and a second read later proves no
more than the first. Then the claim is given a new version by a write of our own: one that removes
the finalizer, which a claim without an allocation does not need; a claim with an allocation, of
which a reservation may be taken back, gets an annotation.
"""

from harness import concurrency
from harness.client import apis, transports
from harness.model.objects import Object
from harness.subject.objects import claim_writes, claims

FAILURES = (apis.ApiError, transports.TransportError)
ANNOTATION = "flake-hunt.example/fenced-version"
BACKOFF_FIRST_S = 0.05
"""Wait before the second try, in seconds; it doubles with each further one."""
BACKOFF_MAX_S = 5.0


def settled(api: apis.Api, unsettled: Object) -> Object | None:
    """Return the claim in a version that no write under way is based on; None if it is gone.

    `unsettled`: the claim in the version on which such a write may be based, with the finalizer.
    Raises ApiError or TransportError if its fate is still unknown, for example after a conflict:
    try again.
    """
    current = _read(api, unsettled)
    if current is None or _version(current) != _version(unsettled):
        return current
    fence = _annotate if claims.allocation_of(current) else claim_writes.remove_finalizer
    fenced = fence(api, current)
    concurrency.step("remedy.fenced", claim=claims.uid_of(fenced), version=_version(fenced))
    return fenced


def _annotate(api: apis.Api, claim: Object) -> Object:
    """Note in an annotation that the present version of the claim is fenced."""
    annotations = claim["metadata"].get("annotations") or {}
    noted = {**annotations, ANNOTATION: _version(claim)}
    return api.update(apis.CLAIMS, claims.with_metadata(claim, annotations=noted))


def _read(api: apis.Api, claim: Object) -> Object | None:
    meta = claim["metadata"]
    concurrency.step("remedy.read", claim=meta["uid"])
    try:
        current = api.get(apis.CLAIMS, meta["name"], namespace=meta["namespace"])
    except apis.ApiError as error:
        if error.is_not_found:
            return None
        raise
    return current if claims.uid_of(current) == meta["uid"] else None


def _version(claim: Object) -> str:
    return str(claim["metadata"]["resourceVersion"])


def next_backoff_s(backoff_s: float) -> float:
    return min(2 * backoff_s, BACKOFF_MAX_S)
