"""Claims whose planned allocation may not be visible in the assume cache yet.

After inFlightAllocations in pkg/scheduler/framework/plugins/dynamicresources/dra_manager.go, as it
is since 1.36. A pod may name one claim twice; each of its entries is then planned, and counts.
"""

import collections

from harness import concurrency
from harness.model.objects import Object
from harness.subject.objects import claims
from harness.subject.telemetry import klog

_CLAIM, _ALL = "claim", "all"
"""The parts: each claim by UID, and the set of all."""


class InFlightClaims:
    """Claims with their planned allocation, by UID."""

    def __init__(self) -> None:
        self._guard = concurrency.lock("in-flight")
        self._claims: dict[str, Object] = {}
        self._plans: collections.Counter[str] = collections.Counter()
        """Number of times that each claim was added, by UID."""

    def add(self, claim: Object) -> None:
        """Add a claim with its planned allocation, which counts as used from now on.

        If the claim is in flight already, its first plan stays, since that is what will be written.
        """
        uid = claims.uid_of(claim)
        with concurrency.in_parts(self._guard):
            self._change(uid)
            is_first = self._note(uid, claim)
        if is_first:
            self._tell(uid, claim)
        else:
            concurrency.step("in-flight.kept", claim=uid)

    def _note(self, uid: str, claim: Object) -> bool:
        """Count a plan, under the lock; return whether it is the claim's first one."""
        self._plans[uid] += 1
        self._claims.setdefault(uid, claim)
        return self._plans[uid] == 1

    def _tell(self, uid: str, claim: Object) -> None:
        for device in claims.exclusive_devices(claims.allocation_of(claim)):
            concurrency.step("in-flight.added", claim=uid, device=device)
        for device, share, _ in claims.shares(claims.allocation_of(claim)):
            concurrency.step("in-flight.share-added", claim=uid, device=device, share=share)

    def remove(self, uid: str) -> bool:
        """Remove a claim however often it was added; return False if it was not in flight."""
        with concurrency.in_parts(self._guard):
            self._change(uid)
            self._plans.pop(uid, None)
            known = self._claims.pop(uid, None)
        return self._tell_removed(uid, known)

    def release(self, uid: str) -> bool:
        """Take back one plan; return whether the claim leaves with its last one."""
        with concurrency.in_parts(self._guard):
            self._change(uid)
            if self._plans[uid] > 1:
                self._plans[uid] -= 1
                return False
            self._plans.pop(uid, None)
            known = self._claims.pop(uid, None)
        return self._tell_removed(uid, known)

    def _tell_removed(self, uid: str, known: Object | None) -> bool:
        if known is not None:
            version = known["metadata"].get("resourceVersion")
            klog.info(5, "Removed in-flight claim", claim=known, uid=uid, version=version)
        else:
            klog.info(5, "Redundant remove of in-flight claim, not found", uid=uid)
        concurrency.step("in-flight.removed", claim=uid, found=known is not None)
        return known is not None

    def __contains__(self, uid: str) -> bool:
        with concurrency.in_parts(self._guard):
            concurrency.reads(self._guard, _CLAIM, uid)
            return uid in self._claims

    def listed(self) -> list[Object]:
        with concurrency.in_parts(self._guard):
            concurrency.reads(self._guard, _ALL)
            return list(self._claims.values())

    def _change(self, uid: str) -> None:
        """Declare that a claim comes or goes; the order of claims matters to no one."""
        concurrency.writes(self._guard, _CLAIM, uid)
        concurrency.adds(self._guard, _ALL)
