"""The claims of a pod as the assume cache knows them, and whether they can be used.

After the PreEnqueue part of pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go.
"""

from collections.abc import Callable

from harness.client import informers
from harness.model.objects import Object
from harness.subject.objects import claims

Lookup = Callable[[str], Object | None]
"""Returns the claim of a key `namespace/name`; None if there is none."""


def of_pod(pod: Object, lookup: Lookup) -> list[Object]:
    """Return the pod's claims.

    Raises claims.Unresolved if one of them cannot be used yet.
    """
    return [
        _usable(pod, name, lookup, must_own=must_own) for name, must_own in claims.claim_names(pod)
    ]


def why_unusable(pod: Object, lookup: Lookup) -> str | None:
    """Return why a claim of the pod cannot be used yet; None if all can."""
    try:
        of_pod(pod, lookup)
    except claims.Unresolved as reason:
        return str(reason)
    return None


def unknown_request(claim: Object) -> str | None:
    """Return what is wrong with a request of a kind that is not known here; None if all are known.

    A newer API server may store such requests. Upstream refuses them, too.
    """
    for request in (claim["spec"].get("devices") or {}).get("requests") or ():
        if not request.get("exactly") and not request.get("firstAvailable"):
            return (
                f"resource claim {informers.key_of(claim)}, request {request.get('name')}: "
                "unknown request type"
            )
    return None


def _usable(pod: Object, name: str, lookup: Lookup, *, must_own: bool) -> Object:
    claim = lookup(f"{pod['metadata']['namespace']}/{name}")
    if claim is None:
        raise claims.Unresolved(f"resourceclaim {name!r} not found")
    if claims.is_deleting(claim):
        raise claims.Unresolved(f"resourceclaim {name!r} is being deleted")
    if must_own and not claims.is_for(claim, pod):
        raise claims.Unresolved(f"resourceclaim {name!r} was not created for the pod")
    return claim
