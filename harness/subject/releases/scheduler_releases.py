"""Differences of the scheduler in the releases 1.36.2 and 1.34.2.

Each `_settle` is the end of `bindClaim` in
pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go of that release.
"""

from collections.abc import Mapping
from typing import Any

from harness.client import apis
from harness.subject import dynamic_resources, replacements
from harness.subject.binding import claim_binding
from harness.subject.defects import assume_cache_shared_drain, gather_not_atomic

Object = dict[str, Any]


# ------------------------------------------------------------------ up to 1.36.2


class OutOfFlightOnFailureBinder(claim_binding.ClaimBinder):
    """A claim leaves the in-flight claims also when its write has failed, before Unreserve.

    So Unreserve finds nothing and does not restore the claim in the assume cache. Fixed after
    1.36.2 (kubernetes#139418): a failed PreBind leaves it to Unreserve.
    """

    def _settle(self, uid: str, written: Object | None, *, was_planned: bool) -> None:
        self._assume(uid, written)
        if was_planned:
            self._in_flight.remove(uid)


class NoLimitPlugin(dynamic_resources.DynamicResources):
    """PreFilter lets a pod pass whose claim is reserved for 256 other pods already.

    As up to 1.36.2 and later: CanBeReserved in k8s.io/dynamic-resource-allocation/resourceclaim is
    always true.
    """

    def _require_reservable(self, claim: Object, pod: Object) -> None:
        del claim, pod


class LimitBacksOffBinder(claim_binding.ClaimBinder):
    """A pod for which its claim has no place backs off and is tried again, for as long as it takes.

    As up to 1.36.2 and later: PreBind returns any refusal of the API server as an error. By default
    the pod waits for an event of the claim.
    """

    def _require_reservable(self, claim: Object, error: apis.ApiError) -> None:
        del claim, error


class AnyClaimBinder(claim_binding.ClaimBinder):
    """After a conflict, a pod takes whatever the claim has become.

    As up to 1.36.2 and later: bindClaim asks neither whether the claim that it reads again by name
    is another one, nor whether it has another allocation, whose devices may be out of reach of the
    pod's node.
    """

    def _require_same_claim(self, chosen: Object, current: Object) -> None:
        del chosen, current

    def _require_same_allocation(self, chosen: Object, reserved: Object) -> None:
        del chosen, reserved


# -------------------------------------------------------------------- only 1.34.2


class ReservationsNotAssumedBinder(claim_binding.ClaimBinder):
    """As before 1.36: only a claim that was allocated is assumed, not one merely reserved.

    An attempt before the informer's event still sees the claim without the reservation. The claim
    leaves the in-flight claims also on failure, as up to 1.36.2.
    """

    def _settle(self, uid: str, written: Object | None, *, was_planned: bool) -> None:
        if was_planned:
            self._assume(uid, written)
            self._in_flight.remove(uid)


_UP_TO_NOW = {
    "changes-not-seen": replacements.Replacement("claim_binder", AnyClaimBinder),
    "limit-not-seen": replacements.Replacement("plugin", NoLimitPlugin),
    "limit-backs-off": replacements.Replacement("claim_binder", LimitBacksOffBinder),
}
BY_RELEASE: Mapping[str, Mapping[str, replacements.Replacement]] = {
    "1.34.2": {
        "shared-drain": replacements.Replacement(
            "assume_cache", assume_cache_shared_drain.SharedDrainAssumeCache
        ),
        "plain-gather": replacements.Replacement("gatherer", gather_not_atomic.NotAtomicGatherer),
        "reservations-not-assumed": replacements.Replacement(
            "claim_binder", ReservationsNotAssumedBinder
        ),
        **_UP_TO_NOW,
    },
    "1.36.2": {
        "out-of-flight-on-failure": replacements.Replacement(
            "claim_binder", OutOfFlightOnFailureBinder
        ),
        **_UP_TO_NOW,
    },
}
"""The replacements of the scheduler by release, the oldest release first."""
