"""Differences of the releases that are no known defects; `differences.toml` says why.

Each `_settle` is the end of `bindClaim` in
pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go of that release. The feature
gates of DRA are on, also those that are off by default in 1.34: so the releases were recorded.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from harness.client import apis
from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.allocation import allocators, device_requests, devices, holdings
from harness.subject.claim_control import enqueuing, generating, taint_evictors
from harness.subject.defects import allocator_search
from harness.subject.extended_resources import class_resolver, extended_requests
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

# ------------------------------------------------------------------ the allocator


@replacements.known_as("lists-match-nothing")
class ListsMatchNothingSearch(allocator_search.TrackingSearch):
    matches = allocator_search.ScalarMatch


@replacements.known_as("taints-of-any-effect")
class AnyEffectHoldings(holdings.Holdings):
    def _is_tolerated(self, option: device_requests.Option, device: devices.Device) -> bool:
        return devices.are_tolerated(device.document.get("taints") or (), option.tolerations)


# ------------------------------------------------------------------ the scheduler


@replacements.known_as("selectorless-rules")
class SelectorlessRulesTracker(slice_trackers.SliceTracker):
    def _may_select(self, rule: Object, obj: Object) -> bool:
        return rule["spec"].get("deviceSelector") is None or super()._may_select(rule, obj)


@replacements.known_as("lost-allocation-awaited")
class WaitingForeverConditions(binding_conditions.BindingConditions):
    def _on_lost_allocation(self, key: str) -> None:
        del key

    def _is_ready(self, claim: Object) -> bool:
        return claims.allocation_of(claim) is not None and super()._is_ready(claim)


@replacements.known_as("constant-binding-timeout")
class ConstantTimeoutConditions(binding_conditions.BindingConditions):
    def _timeout_s(self) -> float:
        return binding_conditions.TIMEOUT_S


@replacements.known_as("out-of-flight-on-failure")
class OutOfFlightOnFailureBinder(claim_binding.ClaimBinder):
    def _settle(self, uid: str, written: Object | None, *, was_planned: bool) -> None:
        self._assume(uid, written)
        if was_planned:
            self._in_flight.remove(uid)


@replacements.known_as("limit-not-seen")
class NoLimitPlugin(dynamic_resources.DynamicResources):
    def _require_reservable(self, claim: Object, user: Object) -> None:
        del claim, user


@replacements.known_as("limit-backs-off")
class LimitBacksOffBinder(claim_binding.ClaimBinder):
    def _require_reservable(self, claim: Object, error: apis.ApiError) -> None:
        del claim, error


@replacements.known_as("changes-not-seen")
class AnyClaimBinder(claim_binding.ClaimBinder):
    def _require_same_claim(self, chosen: Object, current: Object) -> None:
        del chosen, current

    def _require_same_allocation(self, chosen: Object, reserved: Object) -> None:
        del chosen, reserved


@replacements.known_as("any-plan-forgotten")
class AnyPlanForgottenBinder(claim_binding.ClaimBinder):
    def _has_planned(self, attempt: scheduling_attempts.Attempt, index: int) -> bool:
        del attempt, index
        return True


@replacements.known_as("freed-not-assumed")
class FreedNotAssumedBinder(claim_binding.ClaimBinder):
    def _assume_unreserved(self, freed: Object | None) -> None:
        del freed


@replacements.known_as("reserved-twice")
class ReservedTwiceBinder(claim_binding.ClaimBinder):
    def _is_reserved_already(self, claim: Object, user: Object) -> bool:
        del claim, user
        return False


@replacements.known_as("time-added-on-reservation")
class TimeAddedOnReservationBinder(claim_binding.ClaimBinder):
    def _write_reservation(self, claim: Object, user: Object) -> Object:
        allocation = claims.allocation_of(claim)
        if allocation and "allocationTimestamp" not in allocation:
            claim = claims.with_status(claim, allocation=self._stamped(allocation))
        return super()._write_reservation(claim, user)


@replacements.known_as("assumed-not-stored")
class AssumedNotStoredCache(assume_caches.AssumeCache):
    def _keep_assumed(self, entry: Any, obj: Object) -> None:
        del entry, obj


@replacements.known_as("lost-objects")
class LostObjectsHelpNoPodHints(queueing_hints.QueueingHints):
    def after_device_change(self, event: cluster_events.ClusterEvent) -> queueing_hints.Hint:
        return queueing_hints.SKIP if event.new is None else super().after_device_change(event)


@replacements.known_as("reservations-not-assumed")
class ReservationsNotAssumedBinder(claim_binding.ClaimBinder):
    def _settle(self, uid: str, written: Object | None, *, was_planned: bool) -> None:
        if was_planned:
            self._assume(uid, written)
            self._in_flight.remove(uid)


@replacements.known_as("timeout-rules-out-node")
class TimeoutRulesOutNodePlugin(dynamic_resources.DynamicResources):
    def _time_out(
        self,
        attempt: scheduling_attempts.Attempt,
        node: Object,
        error: allocators.AllocationTimeoutError,
    ) -> None:
        del node
        attempt.refuse(str(error))


@replacements.known_as("implicit-names-ignored")
class ImplicitNamesIgnoredPlugin(dynamic_resources.DynamicResources):
    def _demand(self, pod: Object) -> class_resolver.Demand:
        asked = super()._demand(pod)
        return class_resolver.Demand(_explicit(asked.amounts), _explicit(asked.classes))


def _explicit(by_resource: Mapping[str, V]) -> dict[str, V]:
    prefix = extended_requests.IMPLICIT_PREFIX
    return {name: item for name, item in by_resource.items() if not name.startswith(prefix)}


# ------------------------------------------------------------------ the claim controller


@replacements.known_as("templates-not-followed")
class TemplatesNotFollowedEnqueuer(enqueuing.Enqueuer):
    def on_template(self, template: Object) -> None:
        pass


@replacements.known_as("owner-deletion-blocked")
class BlockedOwnerGenerator(generating.ClaimGenerator):
    def _owner_reference(self, pod: Object) -> Object:
        return {**super()._owner_reference(pod), "blockOwnerDeletion": True}


@replacements.known_as("effectless-tolerations-evicted")
class NamedEffectsEvictor(taint_evictors.TaintEvictor):
    def _tolerations(self, result: Object) -> list[Object]:
        listed = super()._tolerations(result)
        return [item for item in listed if item.get("effect") == taint_evictors.NO_EXECUTE]
