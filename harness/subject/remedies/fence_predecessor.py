"""A remedy for H3 and H18: a write of the predecessor lands after the successor's first list."""

from collections.abc import Callable
from typing import Any, TypeVar

from harness import concurrency, errors
from harness.client import apis, transports
from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.leadership import leader_election
from harness.subject.objects import claims
from harness.subject.remedies import settled_claims
from harness.subject.tracking import assume_caches

TRIES = 5
"""Attempts to take a reservation back before giving up on 409 conflicts."""


class FencedApi(apis.Api):
    """An API whose patches that take a reservation back carry the version of the claim.

    The claim is read before each of them. The other writes of claims carry a version already, or
    harm nothing if they come late: a patch that reserves a claim adds what the pod needs.
    """

    def patch(self, resource: apis.Resource, name: str, patch: Any, **options: Any) -> Object:
        if resource is not apis.CLAIMS or not _takes_back(patch):
            return super().patch(resource, name, patch, **options)
        for _ in range(TRIES - 1):
            try:
                return self._take_back(name, patch, options)
            except apis.ApiError as error:
                if not error.is_conflict:
                    raise
        return self._take_back(name, patch, options)

    def _take_back(self, name: str, patch: Object, options: dict[str, Any]) -> Object:
        claim = self.get(apis.CLAIMS, name, namespace=options["namespace"])
        concurrency.step("remedy.read", claim=claims.uid_of(claim))
        version = claim["metadata"]["resourceVersion"]
        as_read = claims.with_metadata(patch, resourceVersion=version)
        return super().patch(apis.CLAIMS, name, as_read, **options)


def _takes_back(patch: Object) -> bool:
    entries = patch.get("status", {}).get("reservedFor") or ()
    return any(entry.get("$patch") == "delete" for entry in entries)


class WriteGate:
    """A transport that sends no writes once it is closed for them, or when the lease is over."""

    def __init__(self, transport: transports.Transport, *, still_leads: Callable[[], bool]) -> None:
        self._transport, self._still_leads = transport, still_leads
        self._guard = concurrency.lock("write-gate")
        self._is_closed = False

    def close_for_writes(self) -> None:
        with self._guard:
            self._is_closed = True

    def send(self, request: transports.Request) -> transports.Response:
        """Return the response. Raises TransportError, also for a write that is not sent."""
        if request.method != "GET":
            self._require_open(request)
        return self._transport.send(request)

    def _require_open(self, request: transports.Request) -> None:
        with self._guard:
            is_closed = self._is_closed
        if is_closed or not self._still_leads():
            concurrency.step("remedy.write-refused", method=request.method, path=request.path)
            raise transports.TransportError(
                f"{request.method} {request.path}: not sent, because this scheduler has stopped or lost its lease",
                sent=False,
            )

    def watch(self, request: transports.Request) -> transports.Watch:
        return self._transport.watch(request)

    def close(self) -> None:
        self._transport.close()


T = TypeVar("T")
TIMEOUT_S = 30.0
"""Time limit for settling all claims at the start, in seconds."""


@replacements.known_as("fence-predecessor")
class FencingLeadership(leader_election.Leadership):
    accepts_cached_lists = False

    def __init__(
        self, api: apis.Api, cache: assume_caches.AssumeCache, *, namespace: str | None = None
    ) -> None:
        super().__init__(api, cache, namespace=namespace)
        self._gate = WriteGate(api.transport, still_leads=self.still_leads)

    @property
    def writing_api(self) -> apis.Api:
        return FencedApi(self._gate)

    def on_started_leading(self) -> None:
        """Settle every claim that a predecessor may be about to allocate, or to take back.

        Raises ClusterError if that does not succeed within 30 s.
        """
        started_s = concurrency.monotonic_s()
        listed = self._newest_claims(started_s + TIMEOUT_S)
        unbound = self._unbound_pods(started_s + TIMEOUT_S)
        unsettled = [claim for claim in listed if _may_be_under_way(claim, unbound)]
        for claim in unsettled:
            self._settle(claim, started_s + TIMEOUT_S)
        waited_s = concurrency.monotonic_s() - started_s
        concurrency.step(
            "remedy.took-over", claims=len(unsettled), waited_ms=round(waited_s * 1000)
        )

    def on_stopped_leading(self) -> None:
        self._gate.close_for_writes()
        concurrency.step("remedy.writes-ended")

    def _newest_claims(self, deadline_s: float) -> list[Object]:
        """List all claims, and return them when the assume cache and its handlers know them."""
        listed = self._list(apis.CLAIMS, deadline_s)
        for claim in listed:
            # Also if it is known: on return the handlers have seen what the informer has stored.
            self._cache.learn(claim)
        return listed

    def _unbound_pods(self, deadline_s: float) -> set[str]:
        listed = self._list(apis.PODS, deadline_s)
        return {claims.uid_of(pod) for pod in listed if not pod["spec"].get("nodeName")}

    def _list(self, resource: apis.Resource, deadline_s: float) -> list[Object]:
        listing = self._until_answered(
            lambda: self._api.list(resource, namespace=self._namespace), deadline_s
        )
        concurrency.step("remedy.listed", resource=resource.plural, count=len(listing.items))
        return listing.items

    def _settle(self, claim: Object, deadline_s: float) -> None:
        self._assume(
            self._until_answered(lambda: settled_claims.settled(self._api, claim), deadline_s)
        )

    def _until_answered(self, ask: Callable[[], T], deadline_s: float) -> T:
        """Return what `ask` returns, trying until the deadline. Raises ClusterError after it."""
        backoff_s = settled_claims.BACKOFF_FIRST_S
        while True:
            try:
                return ask()
            except settled_claims.FAILURES as error:
                _postpone(error, deadline_s)
            concurrency.sleep(backoff_s)
            backoff_s = settled_claims.next_backoff_s(backoff_s)

    def _assume(self, current: Object | None) -> None:
        if current is None:
            return  # the informer will deliver that it is gone
        try:
            self._cache.assume(current)
        except assume_caches.AssumeError as error:  # a newer version is known
            concurrency.step(
                "pre-bind.not-assumed", claim=claims.uid_of(current), reason=str(error)
            )


def _postpone(error: errors.HarnessError, deadline_s: float) -> None:
    concurrency.step("remedy.postponed", reason=str(error))
    if concurrency.monotonic_s() > deadline_s:
        raise errors.ClusterError(
            f"expected to fence the claims of a previous scheduler within {TIMEOUT_S:g} s, "
            f"but: {error}. Is the API server up, and may these credentials update claims?"
        ) from error


def _may_be_under_way(claim: Object, unbound: set[str]) -> bool:
    """Return whether an allocation, or a removal for `unbound` pods, may not be committed."""
    if not claims.allocation_of(claim):
        return claims.has_finalizer(claim)
    return any(entry["uid"] in unbound for entry in claims.reservations_of(claim))
