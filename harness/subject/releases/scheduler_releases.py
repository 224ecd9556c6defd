"""Differences of the scheduler in the releases.

Each `_settle` is the end of `bindClaim` in
pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go of that release. The feature
gates of DRA are on, also those that are off by default in 1.34: so the releases were recorded.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from harness.client import apis
from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.allocation import allocators
from harness.subject.defects import queueing_defects
from harness.subject.extended_resources import class_resolver
from harness.subject.objects import claims
from harness.subject.plugin import (
    binding_conditions,
    claim_binding,
    dynamic_resources,
    scheduling_attempts,
)
from harness.subject.queueing import cluster_events, queueing_hints
from harness.subject.slice_tracking import slice_trackers
from harness.subject.tracking import assume_caches

V = TypeVar("V")


class SelectorlessRulesTracker(slice_trackers.SliceTracker):
    """A rule without `deviceSelector` taints every device, as an empty one does.

    It is documented to select no device. Up to 1.37; fixed later (kubernetes#141648).
    """

    facts = replacements.Facts(
        name="selectorless-rules",
        releases=replacements.Releases(last="1.37"),
    )

    def _may_select(self, rule: Object, obj: Object) -> bool:
        return rule["spec"].get("deviceSelector") is None or super()._may_select(rule, obj)


class WaitingForeverConditions(binding_conditions.BindingConditions):
    """A claim that has lost its allocation is waited for until the time is up.

    As in every release: its conditions are looked for in an allocation that is not there. By
    default the wait ends, and the pod is tried again.
    """

    facts = replacements.Facts(
        name="lost-allocation-awaited",
        releases=replacements.Releases(last="1.37", is_open=True),
    )

    def _on_lost_allocation(self, key: str) -> None:
        del key

    def _is_ready(self, claim: Object) -> bool:
        return claims.allocation_of(claim) is not None and super()._is_ready(claim)


class ConstantTimeoutConditions(binding_conditions.BindingConditions):
    """The time limit is a constant of 600 s.

    As in 1.34: the argument bindingTimeout came with 1.35 (kubernetes#134905).
    """

    facts = replacements.Facts(
        name="constant-binding-timeout",
        releases=replacements.Releases(last="1.34"),
    )

    def _timeout_s(self) -> float:
        return binding_conditions.TIMEOUT_S


# ------------------------------------------------------------------ up to 1.36


class OutOfFlightOnFailureBinder(claim_binding.ClaimBinder):
    """A claim leaves the in-flight claims also when its write has failed, before Unreserve.

    So Unreserve finds nothing and does not restore the claim in the assume cache. Fixed after
    1.36.3 (kubernetes#139418): a failed PreBind leaves it to Unreserve.
    """

    facts = replacements.Facts(
        name="out-of-flight-on-failure",
        releases=replacements.Releases(first="1.35", last="1.36.3"),
    )

    def _settle(self, uid: str, written: Object | None, *, was_planned: bool) -> None:
        self._assume(uid, written)
        if was_planned:
            self._in_flight.remove(uid)


class NoLimitPlugin(dynamic_resources.DynamicResources):
    """PreFilter lets a pod pass whose claim is reserved for 256 other pods already.

    As up to 1.36.2 and later: CanBeReserved in k8s.io/dynamic-resource-allocation/resourceclaim is
    always true.
    """

    facts = replacements.Facts(
        name="limit-not-seen",
        releases=replacements.Releases(last="1.36.2", is_open=True),
    )

    def _require_reservable(self, claim: Object, user: Object) -> None:
        del claim, user


class LimitBacksOffBinder(claim_binding.ClaimBinder):
    """A pod for which its claim has no place backs off and is tried again, for as long as it takes.

    As up to 1.36.2 and later: PreBind returns any refusal of the API server as an error. By default
    the pod waits for an event of the claim.
    """

    facts = replacements.Facts(
        name="limit-backs-off",
        releases=replacements.Releases(last="1.36.2", is_open=True),
    )

    def _require_reservable(self, claim: Object, error: apis.ApiError) -> None:
        del claim, error


class AnyClaimBinder(claim_binding.ClaimBinder):
    """A pod takes whatever the claim has become after a conflict.

    As up to 1.36.2 and later: bindClaim asks neither whether the claim that it reads again by name
    is another one, nor whether it has another allocation, whose devices may be out of reach of the
    pod's node.
    """

    facts = replacements.Facts(
        name="changes-not-seen",
        releases=replacements.Releases(last="1.36.2", is_open=True),
    )

    def _require_same_claim(self, chosen: Object, current: Object) -> None:
        del chosen, current

    def _require_same_allocation(self, chosen: Object, reserved: Object) -> None:
        del chosen, reserved


class AnyPlanForgottenBinder(claim_binding.ClaimBinder):
    """An attempt that fails takes its claims out of flight, whichever attempt has planned them.

    As up to 1.36.2 and later: Unreserve asks for the UID only. A pod that failed to reserve a claim
    makes the device look free that another pod is about to allocate to it. Nor
    does PreBind ask if a plan is of a claim that another entry of the pod has already had written.
    """

    facts = replacements.Facts(
        name="any-plan-forgotten",
        releases=replacements.Releases(last="1.36.2", is_open=True),
    )

    def _has_planned(self, attempt: scheduling_attempts.Attempt, index: int) -> bool:
        del attempt, index
        return True


class FreedNotAssumedBinder(claim_binding.ClaimBinder):
    """A claim whose reservation Unreserve has removed still looks reserved for the pod.

    As up to 1.36.2 and later: Unreserve drops what the API server has answered. An attempt before
    the informer's event binds the pod, and the claim is not reserved for it.
    """

    facts = replacements.Facts(
        name="freed-not-assumed",
        releases=replacements.Releases(last="1.36.2", is_open=True),
    )

    def _assume_unreserved(self, freed: Object | None) -> None:
        del freed


class ReservedTwiceBinder(claim_binding.ClaimBinder):
    """A pod that names an allocated claim in two of its entries is never bound.

    As up to 1.36.3 and later: bindClaim adds the pod to whatever it has read again after the
    conflict with the first entry. The API server refuses a duplicate in `reservedFor`, and
    Unreserve takes the first reservation back.
    """

    facts = replacements.Facts(
        name="reserved-twice",
        releases=replacements.Releases(last="1.36.3", is_open=True),
    )

    def _is_reserved_already(self, claim: Object, user: Object) -> bool:
        del claim, user
        return False


class TimeAddedOnReservationBinder(claim_binding.ClaimBinder):
    """An allocation without a time gets one when it is reserved for one more pod.

    The API server refuses that, as an allocation is immutable, so that no pod can use a claim that
    was allocated without a time, by other than a scheduler. Seen in the recorded allocations of
    1.36.2.
    """

    facts = replacements.Facts(
        name="time-added-on-reservation",
        releases=replacements.Releases(first="1.36", last="1.37", is_open=True),
    )

    def _write_reservation(self, claim: Object, user: Object) -> Object:
        allocation = claims.allocation_of(claim)
        if allocation and "allocationTimestamp" not in allocation:
            claim = claims.with_status(claim, allocation=self._stamped(allocation))
        return super()._write_reservation(claim, user)


class AssumedNotStoredCache(assume_caches.AssumeCache):
    """An object from the informer that has been assumed before is dropped.

    As up to 1.36.2 and later: Restore goes back to the version before it, which stays in the cache
    until the next change (kubernetes#140263).
    """

    facts = replacements.Facts(
        name="assumed-not-stored",
        releases=replacements.Releases(last="1.36.2", is_open=True),
    )

    def _keep_assumed(self, entry: Any, obj: Object) -> None:
        del entry, obj


class LostObjectsHelpNoPodHints(queueing_defects.ClaimDeletionIgnoredHints):
    """No pod is retried after the deletion of a claim or of a slice.

    As up to 1.36.3, which does not register these events. A claim deleted while it was allocated
    gives back its devices since kubernetes#140831.
    """

    facts = replacements.Facts(
        name="lost-objects",
        releases=replacements.Releases(last="1.36.3"),
        instead_of=("claim-deletion-ignored",),
    )

    def after_device_change(self, event: cluster_events.ClusterEvent) -> queueing_hints.Hint:
        """Skip a deletion."""
        return queueing_hints.SKIP if event.new is None else super().after_device_change(event)


# ------------------------------------------------------------------- 1.34 and 1.35


class ReservationsNotAssumedBinder(claim_binding.ClaimBinder):
    """The behaviour before 1.35: only a claim that was allocated is assumed, not one merely
    reserved (kubernetes#133608).

    An attempt before the informer's event still sees the claim without the reservation. The claim
    leaves the in-flight claims also on failure, as up to 1.36.3.
    """

    facts = replacements.Facts(
        name="reservations-not-assumed",
        releases=replacements.Releases(last="1.34"),
    )

    def _settle(self, uid: str, written: Object | None, *, was_planned: bool) -> None:
        if was_planned:
            self._assume(uid, written)
            self._in_flight.remove(uid)


class TimeoutRulesOutNodePlugin(dynamic_resources.DynamicResources):
    """A node on which the search for devices takes too long is ruled out; the pod waits.

    As before 1.36, which ends the attempt and backs off: no event need come before the next attempt
    would be faster.
    """

    facts = replacements.Facts(
        name="timeout-rules-out-node",
        releases=replacements.Releases(last="1.35"),
    )

    def _time_out(
        self,
        attempt: scheduling_attempts.Attempt,
        node: Object,
        error: allocators.AllocationTimeoutError,
    ) -> None:
        del node
        attempt.refuse(str(error))


class ImplicitNamesIgnoredPlugin(dynamic_resources.DynamicResources):
    """A pod that asks for the implicit extended resource of a class is bound without any claim.

    As in 1.34: the name `deviceclass.resource.kubernetes.io/…` counts as a native one, because it
    contains `kubernetes.io/`. So `preFilterExtendedResources` makes no claim, and NodeResourcesFit
    leaves the resource to the plugin, because no node has it. Tried with 1.34.2.
    """

    facts = replacements.Facts(
        name="implicit-names-ignored",
        releases=replacements.Releases(first="1.34", last="1.34"),
    )

    def _demand(self, pod: Object) -> class_resolver.Demand:
        asked = super()._demand(pod)
        return class_resolver.Demand(_explicit(asked.amounts), _explicit(asked.classes))


def _explicit(by_resource: Mapping[str, V]) -> dict[str, V]:
    """Return the entries of resources without those that have an implicit name."""
    prefix = class_resolver.IMPLICIT_PREFIX
    return {name: item for name, item in by_resource.items() if not name.startswith(prefix)}
