"""A remedy for hypotheses H1 and H7: the outcome of a claim's status write is unknown."""

import dataclasses
from typing import Any

from harness import concurrency
from harness.client import apis, informers, transports
from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.objects import claims
from harness.subject.plugin import claim_binding, scheduling_attempts
from harness.subject.remedies import settled_claims
from harness.subject.tracking import assume_caches


@dataclasses.dataclass(frozen=True, slots=True)
class _UnknownWrite:
    """A write of an allocation whose outcome is unknown."""

    sent: Object
    """The claim that was sent; its resourceVersion is the one on which the write is based."""
    since_s: float
    """Monotonic time at which the write failed, in seconds."""


@replacements.known_as("keep-in-flight-until-known")
class KeepInFlightBinder(claim_binding.ClaimBinder):
    def __init__(self, api: apis.Api, **parts: Any) -> None:
        super().__init__(api, **parts)
        self._unknown: dict[str, _UnknownWrite] = {}
        """Keyed by UID of the claim, from its write to Unreserve, both on the same binding thread.
        """
        self._unsettled: concurrency.Queue[_UnknownWrite] = concurrency.Queue("unsettled-claims")
        self._stopped = concurrency.Event("unsettled-claims.stopped")
        self._settler: concurrency.Thread | None = None

    def start(self) -> None:
        self._settler = concurrency.spawn("settler", self._settle_all)

    def stop(self) -> None:
        self._unsettled.close()
        self._stopped.set()
        if self._settler is not None:
            self._settler.join(settled_claims.BACKOFF_MAX_S)

    def _put_allocation(self, claim: Object) -> Object:
        try:
            return super()._put_allocation(claim)
        except settled_claims.FAILURES as error:
            if is_outcome_unknown(error):
                uid = claims.uid_of(claim)
                self._unknown[uid] = _UnknownWrite(claim, concurrency.monotonic_s())
                concurrency.step("remedy.outcome-unknown", claim=uid, reason=str(error))
            raise

    def _forget(self, attempt: scheduling_attempts.Attempt, index: int) -> None:
        """Forget a plan, unless its write may have been committed: that is to be settled first."""
        claim = attempt.claims[index]
        unknown = self._unknown.pop(claims.uid_of(claim), None)
        if unknown is not None:
            self._unsettled.put(unknown)
        elif index in attempt.planned and not claims.allocation_of(claim):
            super()._forget(attempt, index)

    # ----------------------------------------------------------------- the thread of its own

    def _settle_all(self) -> None:
        """Settle each claim in turn; one that cannot be settled yet waits behind the others."""
        backoff_s = settled_claims.BACKOFF_FIRST_S
        while True:
            try:
                unknown = self._unsettled.get()
            except concurrency.Closed:
                return
            if self._try_to_settle(unknown):
                backoff_s = settled_claims.BACKOFF_FIRST_S
            else:
                self._unsettled.put(unknown)
                self._stopped.wait(backoff_s)
                backoff_s = settled_claims.next_backoff_s(backoff_s)

    def _try_to_settle(self, unknown: _UnknownWrite) -> bool:
        """Release the claim if its fate is known now; return whether it is."""
        uid = claims.uid_of(unknown.sent)
        try:
            current = settled_claims.settled(self._api, unknown.sent)
            if current is None:
                self._require_deleted(unknown.sent)
            else:
                self._assume_newest(current)
        except (*settled_claims.FAILURES, assume_caches.AssumeError) as error:
            concurrency.step("remedy.postponed", claim=uid, reason=str(error))
            return False
        self._in_flight.remove(uid)
        waited_s = concurrency.monotonic_s() - unknown.since_s
        concurrency.step(
            "remedy.settled", claim=uid, fate=_fate(current), waited_ms=round(waited_s * 1000)
        )
        self._activate(informers.key_of(unknown.sent))
        return True

    def _require_deleted(self, gone: Object) -> None:
        if not self._cache.has_deleted(gone):
            key = informers.key_of(gone)
            raise assume_caches.AssumeError(f"the deletion of {key} has not been delivered")

    def _assume_newest(self, current: Object) -> None:
        """Assume what was read, unless the informer has delivered that or a newer version.

        Raises UnknownObjectError for a claim that the scheduler has created and the informer has
        not delivered: it must stay in flight until then.
        """
        try:
            self._cache.assume(current)
        except assume_caches.UnknownObjectError:
            raise
        except assume_caches.AssumeError as error:
            concurrency.step(
                "pre-bind.not-assumed", claim=claims.uid_of(current), reason=str(error)
            )


def is_outcome_unknown(error: apis.ApiError | transports.TransportError) -> bool:
    if isinstance(error, transports.TransportError):
        return error.sent
    return error.code >= 500


def _fate(current: Object | None) -> str:
    if current is None:
        return "gone"
    return "allocated" if claims.allocation_of(current) else "unallocated"
