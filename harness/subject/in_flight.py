"""Claims whose planned allocation may not be visible in the assume cache yet.

After inFlightAllocations in pkg/scheduler/framework/plugins/dynamicresources/dra_manager.go.
"""

from typing import Any

from harness import concurrency
from harness.subject import claims
from harness.subject.telemetry import klog

Object = dict[str, Any]


class InFlightClaims:
    """Claims with their planned allocation, by UID."""

    def __init__(self) -> None:
        self._guard = concurrency.lock("in-flight")
        self._claims: dict[str, Object] = {}

    def add(self, claim: Object) -> None:
        """Add a claim with its planned allocation, which counts as used from now on."""
        uid = claims.uid_of(claim)
        with self._guard:
            self._claims[uid] = claim
        klog.info(5, "Added in-flight claim", claim=claim, uid=uid, version=_version(claim))
        for device in claims.exclusive_devices(claims.allocation_of(claim)):
            concurrency.step("in-flight.added", claim=uid, device=device)
        for device, share, _ in claims.shares(claims.allocation_of(claim)):
            concurrency.step("in-flight.share-added", claim=uid, device=device, share=share)

    def remove(self, uid: str) -> bool:
        """Remove a claim; return False if it was not in flight."""
        with self._guard:
            known = self._claims.pop(uid, None)
        if known is not None:
            klog.info(5, "Removed in-flight claim", claim=known, uid=uid, version=_version(known))
        else:
            klog.info(5, "Redundant remove of in-flight claim, not found", uid=uid)
        concurrency.step("in-flight.removed", claim=uid, found=known is not None)
        return known is not None

    def __contains__(self, uid: str) -> bool:
        with concurrency.reading(self._guard):
            return uid in self._claims

    def listed(self) -> list[Object]:
        """Return the claims that are in flight now."""
        with concurrency.reading(self._guard):
            return list(self._claims.values())


def _version(claim: Object) -> str | None:
    version: str | None = claim["metadata"].get("resourceVersion")
    return version
