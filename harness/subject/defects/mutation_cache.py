"""The controller's memory of the claims that it has created, as in all releases up to 1.36.2."""

import collections

from harness import concurrency
from harness.client import informers, passed_versions
from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.claim_control import created_claims, pod_claims

CLAIMS_MAX = 100
"""Number of claims to remember."""
REMEMBERED_S = 3600.0
"""Time for which a claim is remembered, in seconds."""


class MutationCache(created_claims.CreatedClaims):
    """100 created claims, each for one hour, whether or not they still exist.

    With more creations than the informer has seen, the oldest is forgotten and created a second
    time (kubernetes#140217). A claim that was deleted is still found for its pod, and recorded
    again, until it is pushed out, its time is over, or the controller restarts. A claim that is
    recorded in the pod's status is looked up only in the informer's cache.
    """

    facts = replacements.Facts(
        name="small-mutation-cache",
        check="generated_claims",
        issues=("kubernetes#140217",),
        releases=replacements.Releases(last="1.36.2"),
    )

    def __init__(self) -> None:
        super().__init__()
        self._cached: collections.OrderedDict[str, tuple[float, Object]] = collections.OrderedDict()
        """Time of creation and claim, by key; the one used longest ago comes first."""

    def add(self, claim: Object) -> None:
        """Remember a claim that the controller has created."""
        with self._guard:
            key = informers.key_of(claim)
            self._cached[key] = concurrency.monotonic_s(), claim
            self._cached.move_to_end(key)
            while len(self._cached) > CLAIMS_MAX:
                self._cached.popitem(last=False)

    def owned_by(self, uid: str) -> list[Object]:
        """Return the informer's claims of the pod, and then the remembered ones."""
        with self._guard:
            known = [self._newer(key) for key in sorted(self._owned.get(uid, ()))]
            keys = {informers.key_of(claim) for claim in known}
            return known + [
                claim
                for key, (at_s, claim) in self._cached.items()
                if key not in keys
                and pod_claims.owning_pod(claim) == (_owner_name(claim), uid)
                and concurrency.monotonic_s() - at_s <= REMEMBERED_S
            ]

    def _newer(self, key: str) -> Object:
        """Return the newer of the informer's and the remembered claim; forget an older one."""
        known = self._claims[key]
        _, cached = self._cached.get(key, (0.0, None))
        if cached is None:
            return known
        if passed_versions.version_of(cached) > passed_versions.version_of(known):
            return cached
        if cached["metadata"]["resourceVersion"] != known["metadata"]["resourceVersion"]:
            del self._cached[key]
        return known


def _owner_name(claim: Object) -> str:
    owner = pod_claims.owning_pod(claim)
    return owner[0] if owner else ""
