"""The binding side of the plugin: the writes of claims, and how they are undone.

After PreBind, bindClaim and Unreserve in
pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go.
"""

import contextlib
import datetime
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from harness import concurrency
from harness.client import apis, informers, transports
from harness.model.objects import Object
from harness.subject.extended_resources import extended_claims
from harness.subject.objects import claim_writes, claims
from harness.subject.plugin import scheduling_attempts
from harness.subject.telemetry import klog
from harness.subject.tracking import assume_caches, in_flight

CONFLICT_TRIES = 5
"""Attempts to write a claim before giving up on 409 conflicts."""
CONFLICT_WAIT_S = 0.01
"""Wait between two of these attempts, in seconds."""
Reserve: TypeAlias = Callable[[apis.Api, Object, Object], Object]
"""Writes a reservation: `reserve(api, claim, pod)` returns the claim as stored."""
ReserveBy: TypeAlias = Literal["update", "patch"]
RESERVE_BY: Mapping[ReserveBy, Reserve] = {
    "update": claim_writes.reserve_by_update,
    "patch": claim_writes.reserve_by_patch,
}
"""The ways to reserve by name."""
_INVALID = 422
_TOO_MANY_RESERVATIONS = "status.reservedFor: Too many"
"""How the API server names the limit of reservations in its refusal."""


class ClaimBinder:
    """Writes the claims of pods with reserved devices, and undoes that.

    A device must be visible in the claims in flight or in the allocated devices at every moment:

    1. Reserve has put the claim in flight (`in-flight.added`).
    2. `pre-bind.written`: the API server has the allocation.
    3. `pre-bind.assumed`: the assume cache has it, and with it the allocated devices, as `assume`
       returns only when its events are delivered.
    4. `in-flight.removed`: now the claim may leave those in flight.

    If the write fails, Unreserve takes the claim out of flight (`unreserve.started`).
    """

    def __init__(
        self,
        api: apis.Api,
        *,
        cache: assume_caches.AssumeCache,
        in_flight_claims: in_flight.InFlightClaims,
        activate: Callable[[str], None],
        reserve: Reserve = claim_writes.reserve_by_update,
    ) -> None:
        """`reserve` writes the reservation of a claim that has an allocation.

        `activate(key)` retries the pods that wait for a claim or a device, where no event does.

        Upstream: Handle.Activate. Only remedies need it.
        """
        self._api, self._cache, self._in_flight = api, cache, in_flight_claims
        self._activate, self._reserve = activate, reserve

    def start(self) -> None:
        """Begin to work in the background: nothing, as upstream."""

    def stop(self) -> None:
        """End what `start` began; called after the last binding."""

    # ------------------------------------------------------------------ PreBind

    def bind(self, attempt: scheduling_attempts.Attempt) -> None:
        """Write allocations and reservations. Raises BindingError."""
        for index, claim in enumerate(attempt.claims):
            if extended_claims.is_in_memory(claim):
                self._bind_extended(attempt, index)
            elif not claims.is_reserved_for(claim, attempt.user_of(index)):
                self._require_first_plan(attempt, index)
                attempt.claims[index] = self._bind_claim(attempt, index)
                if index not in attempt.planned:
                    self._require_same_allocation(claim, attempt.claims[index])

    def finish(self, attempt: scheduling_attempts.Attempt) -> None:
        """Handle that PreBind has succeeded, with all its waits: nothing is left to do here."""

    def _require_first_plan(self, attempt: scheduling_attempts.Attempt, index: int) -> None:
        """Raise BindingError for a plan if another entry of the pod has had its plan written.

        That took the claim out of flight. If the claim is deallocated before this write, the
        devices of this plan may belong to another claim. kube-scheduler does not ask.
        """
        claim = attempt.claims[index]
        if index in attempt.planned and not self._has_planned(attempt, index):
            raise _overtaken(claim, "allocated elsewhere")

    def _require_same_allocation(self, chosen: Object, reserved: Object) -> None:
        """Raise BindingError if the claim has been reserved with another allocation than chosen.

        The pod's node suits the allocation that was known when the node was chosen. kube-scheduler
        does not ask. Unreserve gives the reservation back, so that the claim can be deallocated.
        """
        if not claims.has_same_allocation(chosen, reserved):
            raise _overtaken(reserved, "reallocated elsewhere")

    def _bind_claim(self, attempt: scheduling_attempts.Attempt, index: int) -> Object:
        """Write one claim, then settle it; return what was written."""
        claim, allocation = attempt.claims[index], attempt.planned.get(index)
        uid = claims.uid_of(claim)
        written: Object | None = None
        try:
            written = self._write(claim, allocation, attempt.user_of(index))
        finally:
            self._settle(uid, written, was_planned=allocation is not None)
        klog.info(5, "reserved", pod=attempt.pod, node=attempt.node_name, resourceclaim=written)
        return written

    def _settle(self, uid: str, written: Object | None, *, was_planned: bool) -> None:
        """Update the assume cache, then remove the claim from the in-flight claims.

        In this order the device is always visible in at least one of the two.
        """
        self._assume(uid, written)
        if was_planned and written is not None:  # after a failure, unreserve removes it
            self._in_flight.remove(uid)

    def _assume(self, uid: str, written: Object | None) -> None:
        if written is None:
            return
        version = written["metadata"]["resourceVersion"]
        concurrency.step("pre-bind.written", claim=uid, version=version)
        try:
            self._put_into_cache(written)
        except assume_caches.AssumeError as error:
            klog.info(5, "Claim not stored in assume cache", err=str(error))
            concurrency.step("pre-bind.not-assumed", claim=uid, reason=str(error))
        else:
            concurrency.step("pre-bind.assumed", claim=uid)

    def _put_into_cache(self, written: Object) -> None:
        """Assume a written claim; raises AssumeError if that is not possible."""
        if extended_claims.is_extended(written):
            extended_claims.assume(self._cache, written)
        else:
            self._cache.assume(written)

    # -------------------------------------------- one write, with its conflicts

    def _write(self, claim: Object, allocation: Object | None, user: Object) -> Object:
        """Write allocation and reservation, again after conflicts, for the pod or group `user`."""
        for tries in range(CONFLICT_TRIES):
            if tries:
                concurrency.sleep(CONFLICT_WAIT_S)
                claim = self._read_again(claim)
                if allocation is None and self._is_reserved_already(claim, user):
                    return claim
            try:
                return self._write_once(claim, allocation, user)
            except apis.ApiError as error:
                self._require_reservable(claim, error)
                if not error.is_conflict:
                    raise
                concurrency.step("pre-bind.conflict", claim=claims.uid_of(claim))
        raise scheduling_attempts.BindingError(
            f"{informers.key_of(claim)}: {CONFLICT_TRIES} conflicts in a row"
        )

    def _write_once(self, claim: Object, allocation: Object | None, user: Object) -> Object:
        if claims.is_deleting(claim):
            raise _overtaken(claim, "deleted")
        if allocation is None:
            return self._write_reservation(claim, user)
        if claims.allocation_of(claim):
            raise _overtaken(claim, "allocated elsewhere")
        claim = self._protect(claim)
        claim = claims.with_status(claim, allocation=self._stamped(allocation))
        return self._put_allocation(claims.with_reservation(claim, user))

    def _protect(self, claim: Object) -> Object:
        """Return the claim with its finalizer, so that no deletion removes its allocation."""
        return claim_writes.add_finalizer(self._api, claim)

    def _stamped(self, allocation: Object) -> Object:
        """Return the allocation with its time, from which its devices have to be made ready."""
        now = datetime.datetime.fromtimestamp(concurrency.wall_s(), datetime.UTC)
        return {**allocation, "allocationTimestamp": f"{now:%Y-%m-%dT%H:%M:%SZ}"}

    def _put_allocation(self, claim: Object) -> Object:
        return self._api.update_status(apis.CLAIMS, claim)

    def _write_reservation(self, claim: Object, user: Object) -> Object:
        if not claims.allocation_of(claim):
            raise _overtaken(claim, "deallocated elsewhere")
        return self._reserve(self._api, claim, user)

    def _read_again(self, claim: Object) -> Object:
        meta = claim["metadata"]
        current = self._api.get(apis.CLAIMS, meta["name"], namespace=meta["namespace"])
        self._require_same_claim(claim, current)
        return current

    def _require_same_claim(self, chosen: Object, current: Object) -> None:
        """Raise BindingError for another claim of the same name; kube-scheduler does not ask."""
        if claims.uid_of(chosen) != claims.uid_of(current):
            raise _overtaken(current, "replaced")

    def _is_reserved_already(self, claim: Object, user: Object) -> bool:
        """Return whether there is nothing to reserve: the pod names the claim twice, or another pod
        of its group was faster.

        kube-scheduler does not ask. Its second reservation is refused as a duplicate.
        """
        return claims.is_reserved_for(claim, user)

    def _require_reservable(self, claim: Object, error: apis.ApiError) -> None:
        if error.code == _INVALID and _TOO_MANY_RESERVATIONS in error.message:
            raise scheduling_attempts.ClaimInUseError(
                f"resourceclaim in use: {informers.key_of(claim)}"
            ) from error

    # ----------------------------------------- the claim for extended resources

    def _bind_extended(self, attempt: scheduling_attempts.Attempt, index: int) -> None:
        """Create the claim for extended resources, with a UID of its own, and write it."""
        planned = attempt.claims[index]
        created = extended_claims.create(self._api, planned)
        self._in_flight.add(claims.with_status(created, allocation=attempt.planned[index]))
        self._in_flight.remove(claims.uid_of(planned))
        attempt.claims[index] = created  # Unreserve deletes it
        attempt.claims[index] = self._bind_claim(attempt, index)
        self._record_extended(attempt)

    def _record_extended(self, attempt: scheduling_attempts.Attempt) -> None:
        extended_claims.record(self._api, attempt.pod, attempt.claims[-1], attempt.mappings)

    def _delete_extended(self, claim: Object) -> None:
        if extended_claims.is_in_memory(claim):
            return
        try:
            extended_claims.delete(self._api, claim)
        except (apis.ApiError, transports.TransportError) as error:
            concurrency.step("unreserve.failed", claim=claims.uid_of(claim), reason=str(error))

    # ---------------------------------------------------------------- Unreserve

    def unreserve(self, attempt: scheduling_attempts.Attempt) -> None:
        """Undo Reserve, and remove reservations for the pod; written allocations remain.

        A reservation for the pod's group remains, too: other pods of it may use the claim.
        """
        for index, claim in enumerate(attempt.claims):
            concurrency.step("unreserve.started", claim=claims.uid_of(claim))
            self._forget(attempt, index)
            if extended_claims.is_extended(claim):
                self._delete_extended(claim)
            elif claims.allocation_of(claim) and claims.is_reserved_for(claim, attempt.pod):
                freed = claim_writes.remove_reservation(self._api, claim, attempt.pod)
                self._assume_unreserved(freed)

    def _forget(self, attempt: scheduling_attempts.Attempt, index: int) -> None:
        claim = attempt.claims[index]
        if self._has_planned(attempt, index) and self._in_flight.release(claims.uid_of(claim)):
            log("Released resource in allocation result", claim, attempt.planned.get(index))
            self._restore(claim)

    def _restore(self, claim: Object) -> None:
        """Return to what the informer knows of a claim that was taken out of flight."""
        self._cache.restore(informers.key_of(claim))

    def _has_planned(self, attempt: scheduling_attempts.Attempt, index: int) -> bool:
        """Return whether the attempt's plan for its claim of this index may be in flight.

        If not, the claim may be in flight for another pod that uses it: the attempt has planned
        nothing, or has written its plan for another entry of the pod that names the same claim.
        kube-scheduler does not ask.
        """
        uid = claims.uid_of(attempt.claims[index])
        others = (claim for other, claim in enumerate(attempt.claims) if other != index)
        is_written = any(
            claims.uid_of(item) == uid and claims.allocation_of(item) for item in others
        )
        return index in attempt.planned and not is_written

    def _assume_unreserved(self, freed: Object | None) -> None:
        """Assume a claim without the pod's reservation: the next attempt must reserve it again.

        kube-scheduler does not. An attempt before the informer's event then finds the claim
        reserved, and binds the pod to devices that are not reserved for it.
        """
        if freed is not None:
            with contextlib.suppress(assume_caches.AssumeError):  # the informer was faster
                self._cache.assume(freed)


def _overtaken(claim: Object, how: str) -> scheduling_attempts.BindingError:
    return scheduling_attempts.BindingError(f"{informers.key_of(claim)} got {how} in the meantime")


def log(message: str, claim: Object, allocation: Object | None) -> None:
    meta, planned = claim["metadata"], klog.Document(allocation)
    version = meta.get("resourceVersion")
    klog.info(5, message, claim=claim, uid=meta["uid"], resourceVersion=version, allocation=planned)
