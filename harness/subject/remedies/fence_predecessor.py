"""A remedy for hypothesis H3: a write of the predecessor lands after the successor's first list."""

from collections.abc import Callable
from typing import Any, TypeVar

from harness import concurrency, errors
from harness.client import apis, transports
from harness.subject import assume_caches, claims
from harness.subject.leadership import leaderships
from harness.subject.remedies import settled_claims

Object = dict[str, Any]
T = TypeVar("T")
TIMEOUT_S = 30.0
"""Time limit for settling all claims at the start, in seconds."""


class FencingLeadership(leaderships.Leadership):
    """A scheduler that takes over fences what its predecessor left under way, before its first pod.

    Hypothesis H3. The leader's lease ends, or the leader dies, while its write of an allocation is
    under way. The next leader (cmd/kube-scheduler/app/server.go, OnStartedLeading) trusts its first
    list, in which that claim has no allocation, and gives the device to another claim. Then the
    write is committed. Nothing in the API server compares claims with each other.

    Upstream could do this, in two halves. (1) A scheduler that no longer leads begins no write,
    not even after a conflict: each write is preceded by a look whether it still leads, after the
    read on which the write is based. (2) A scheduler that begins to lead gives a new
    resourceVersion to each claim that has the scheduler's finalizer but no allocation
    (`settled_claims`), assumes the result, waits until the assume cache has delivered its events,
    and then takes its first pod. It lists the claims for that, because its informer may have
    listed long before, standing by, and its watch may lag.

    Why it is enough: an allocation is written only to a claim that has the finalizer, and the
    finalizer is written before. So of the writes that the predecessor can have under way, an
    allocation concerns a claim that has the finalizer in a list made after the lease changed hands.
    Fenced, it conflicts, or it was committed before, and is then part of what was read. A finalizer
    that is written late harms nothing: by (1) no allocation follows it. This holds for
    - a predecessor that is dead: it begins nothing;
    - one that has been stopped, or has lost its lease, and lives: by (1) it begins nothing;
    - one that was paused and does not know yet that its lease is over: what it had read has an old
      version, and after a conflict it reads, looks, and finds that it no longer leads. (The look
      compares the time with the lease's end, because the paused scheduler knows nothing else.)
    - a write that a proxy delays, for however long.

    The list must be answered from the newest state, so the remedy lists without a resourceVersion
    and refuses lists from a watch cache (`SchedulerOptions.lists_cached`). client-go's reflector
    lists with resourceVersion "0" unless WatchListClient is on, which a watch cache that lags may
    answer.

    It costs one list, one read and one write for each claim whose binding was under way, and a
    start that fails after 30 s without an API server. If every unallocated claim were fenced, it
    would cost that for each pending pod.

    Not covered: a predecessor without (1) that lives on; two schedulers at the same time on
    purpose; the predecessor's late removal of a reservation, which carries no resourceVersion,
    after the pod was bound by its successor (hypothesis H18). A claim that the informer has not
    delivered yet, and that is deleted while its watch has a gap, stays in the assume cache with its
    devices.
    """

    accepts_cached_lists = False

    def __init__(
        self, api: apis.Api, cache: assume_caches.AssumeCache, *, namespace: str | None = None
    ) -> None:
        super().__init__(api, cache, namespace=namespace)
        self._gate = _WriteGate(api.transport, still_leads=self.still_leads)

    @property
    def writing_api(self) -> apis.Api:
        """The API through which the scheduler writes, for as long as it leads."""
        return apis.Api(self._gate)

    def on_started_leading(self) -> None:
        """Settle every claim that a predecessor may be about to allocate.

        Raises ClusterError if that does not succeed within 30 s.
        """
        started_s = concurrency.monotonic_s()
        listed = self._newest_claims(started_s + TIMEOUT_S)
        unsettled = [claim for claim in listed if _may_be_under_way(claim)]
        for claim in unsettled:
            self._settle(claim, started_s + TIMEOUT_S)
        waited_s = concurrency.monotonic_s() - started_s
        concurrency.step(
            "remedy.took-over", claims=len(unsettled), waited_ms=round(waited_s * 1000)
        )

    def on_stopped_leading(self) -> None:
        """Begin no further write; those under way are for the successor to fence."""
        self._gate.close_for_writes()
        concurrency.step("remedy.writes-ended")

    def _newest_claims(self, deadline_s: float) -> list[Object]:
        """List all claims, and return them when the assume cache and its handlers know them."""
        listing = self._until_answered(
            lambda: self._api.list(apis.CLAIMS, namespace=self._namespace), deadline_s
        )
        concurrency.step("remedy.listed", count=len(listing.items))
        for claim in listing.items:
            # Also if it is known: on return the handlers have seen what the informer has stored.
            self._cache.on_update(claim, claim)
        return listing.items

    def _settle(self, claim: Object, deadline_s: float) -> None:
        """Settle a claim and assume the result."""
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


def _may_be_under_way(claim: Object) -> bool:
    """Return whether a scheduler has prepared an allocation of the claim that is not committed."""
    return claims.has_finalizer(claim) and not claims.allocation_of(claim)


class _WriteGate:
    """A transport that sends no writes once it is closed for them, or when the lease is over."""

    def __init__(self, transport: transports.Transport, *, still_leads: Callable[[], bool]) -> None:
        self._transport, self._still_leads = transport, still_leads
        self._guard = concurrency.lock("write-gate")
        self._is_closed = False

    def close_for_writes(self) -> None:
        """Send no further write."""
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
        """Open a watch."""
        return self._transport.watch(request)

    def close(self) -> None:
        """Close the connection of the calling thread."""
        self._transport.close()
