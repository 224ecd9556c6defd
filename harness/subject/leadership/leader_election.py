"""Leader election on a Lease: of several schedulers, one works while the others stand by.

After k8s.io/client-go/tools/leaderelection. A candidate takes the lease when it has no holder, or
when it has seen no change of it for the lease's duration, by its own clock. The holder renews it;
if it cannot for `renew_deadline_s`, it has lost the lease. As upstream, this is no fencing: a
scheduler that was paused for longer than the lease goes on writing until it notices, and what it
had sent before stays under way (hypothesis H3).
"""

import datetime
import random
import time
from collections.abc import Callable
from typing import Any

import msgspec

from harness import concurrency
from harness.client import apis, transports
from harness.model.objects import Object
from harness.subject.tracking import assume_caches


class Leadership:
    """The time during which one scheduler leads."""

    accepts_cached_lists = True
    """True if the first lists may come from a watch cache that lags, if the scheduler's options
    ask for such lists."""

    def __init__(
        self, api: apis.Api, cache: assume_caches.AssumeCache, *, namespace: str | None = None
    ) -> None:
        """`namespace`: that of the claims in the cache; None: all namespaces."""
        self._api, self._cache, self._namespace = api, cache, namespace
        self._holds_lease: Callable[[], bool] | None = None

    def use_lease(self, holds_lease: Callable[[], bool]) -> None:
        """Use leader election; `holds_lease` returns whether the lease is certainly still held."""
        self._holds_lease = holds_lease

    def still_leads(self) -> bool:
        """Return whether no other scheduler can lead now; True without leader election."""
        return self._holds_lease is None or self._holds_lease()

    @property
    def writing_api(self) -> apis.Api:
        return self._api

    def on_started_leading(self) -> None:
        """Prepare for the first pod; called once the informers have delivered their first lists.

        Raises ClusterError if the API server does not answer.
        """

    def on_stopped_leading(self) -> None:
        """Take note that this scheduler no longer leads; what it has begun goes on."""


JITTER = 1.2
"""A candidate waits up to this share of the retry period longer, so that candidates differ."""


class LeaseTimes(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Durations of the election, in seconds; the defaults are kube-scheduler's."""

    lease_duration_s: int = 15
    """A candidate waits this long after the last change of the lease. Whole seconds, as in it."""
    renew_deadline_s: float = 10.0
    """The holder gives up when it could not renew the lease for this long."""
    retry_period_s: float = 2.0
    """Time between two attempts to take or renew the lease."""


class LeaderElector:
    """One candidate for one lease, with a thread that takes and renews it."""

    def __init__(
        self,
        api: apis.Api,
        times: LeaseTimes,
        *,
        namespace: str,
        name: str,
        identity: str,
        jitter: random.Random,
        on_lost: Callable[[], None],
    ) -> None:
        """`on_lost` is called on the elector's thread when the lease could not be renewed."""
        self._lock = _LeaseLock(api, times, namespace=namespace, name=name, identity=identity)
        self._times, self._jitter, self._on_lost = times, jitter, on_lost
        self._leads = concurrency.Event("leader-election.leads")
        self._stopped = concurrency.Event("leader-election.stopped")
        self._thread: concurrency.Thread | None = None

    def start(self) -> None:
        self._thread = concurrency.spawn("leader-election", self._run)

    def wait_leading(self, timeout_s: float) -> bool:
        return self._leads.wait(timeout_s)

    def still_leads(self) -> bool:
        """Return whether certainly no other candidate can hold the lease now."""
        return self._leads.is_set() and concurrency.monotonic_s() < self._lock.held_until_s

    def stop(self) -> None:
        """Stop competing, and release the lease if it is held."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        if not self._acquire():
            return
        concurrency.step("leader-election.acquired", lease=self._lock.name)
        self._leads.set()
        while self._renew():
            if self._stopped.wait(self._times.retry_period_s):
                self._lock.release()
                concurrency.step("leader-election.released", lease=self._lock.name)
                return
        concurrency.step("leader-election.lost", lease=self._lock.name)
        self._on_lost()

    def _acquire(self) -> bool:
        while not self._lock.try_to_hold():
            period_s = self._times.retry_period_s
            if self._stopped.wait(period_s * (1 + JITTER * self._jitter.random())):
                return False
        return True

    def _renew(self) -> bool:
        """Renew the lease; return False if it could not be for `renew_deadline_s`."""
        deadline_s = concurrency.monotonic_s() + self._times.renew_deadline_s
        while not self._lock.try_to_hold():
            left_s = deadline_s - concurrency.monotonic_s()
            if left_s <= 0:
                return False
            if self._stopped.wait(min(self._times.retry_period_s, left_s)):
                break  # it is released if it is still held
        return True


class _LeaseLock:
    """The Lease object, and what this candidate has observed of it."""

    def __init__(
        self, api: apis.Api, times: LeaseTimes, *, namespace: str, name: str, identity: str
    ) -> None:
        self.name, self._namespace, self._identity = name, namespace, identity
        self._api = apis.Api(_Bounded(api.transport, times.renew_deadline_s / 2))
        self._duration_s = times.lease_duration_s
        self._lease: Object = {}
        """The newest known state of the lease; empty: none is known."""
        self._observed_s = 0.0
        """Time at which that state was first seen, by the monotonic clock."""
        self.held_until_s = 0.0
        """No other candidate takes the lease before this time, by the monotonic clock."""

    def try_to_hold(self) -> bool:
        begun_s = concurrency.monotonic_s()
        try:
            held = self._try_to_hold()
        except (apis.ApiError, transports.TransportError) as error:
            concurrency.step("leader-election.failed", lease=self.name, reason=str(error))
            return False
        if held:
            self.held_until_s = begun_s + self._duration_s
        return held

    def release(self) -> None:
        """Give up the lease if it is held, so that another candidate can take it at once."""
        if not self._is_mine():
            return
        self.held_until_s = 0.0
        freed = self._spec() | {"holderIdentity": None, "leaseDurationSeconds": 1}
        try:
            self._write(freed)
        except (apis.ApiError, transports.TransportError) as error:
            concurrency.step("leader-election.failed", lease=self.name, reason=str(error))

    def _try_to_hold(self) -> bool:
        if self._is_mine() and not self._is_expired() and self._try_to_renew():
            return True
        if not self._read():
            self._create()
            return True
        if self._spec_now("holderIdentity") and not self._is_mine() and not self._is_expired():
            return False
        self._write(self._spec())
        return True

    def _try_to_renew(self) -> bool:
        """Renew the lease without reading it first; return False if it has changed."""
        try:
            self._write(self._spec())
        except apis.ApiError:
            return False
        return True

    def _read(self) -> bool:
        try:
            lease = self._api.get(apis.LEASES, self.name, namespace=self._namespace)
        except apis.ApiError as error:
            if not error.is_not_found:
                raise
            self._lease = {}
            return False
        if lease["spec"] != self._lease.get("spec"):
            self._observed_s = concurrency.monotonic_s()
        self._lease = lease
        return True

    def _create(self) -> None:
        meta = {"name": self.name, "namespace": self._namespace}
        self._observe(
            self._api.create(
                apis.LEASES, {"metadata": meta, "spec": self._spec()}, namespace=self._namespace
            )
        )

    def _write(self, spec: Object) -> None:
        self._observe(self._api.update(apis.LEASES, {**self._lease, "spec": spec}))

    def _observe(self, lease: Object) -> None:
        self._lease, self._observed_s = lease, concurrency.monotonic_s()

    def _spec(self) -> Object:
        now = _wall_text()
        was_mine, transitions = self._is_mine(), self._spec_now("leaseTransitions") or 0
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": self._duration_s,
            "acquireTime": self._spec_now("acquireTime") if was_mine else now,
            "renewTime": now,
            "leaseTransitions": transitions if was_mine or not self._lease else transitions + 1,
        }

    def _spec_now(self, key: str) -> Any:
        return (self._lease.get("spec") or {}).get(key)

    def _is_mine(self) -> bool:
        return bool(self._spec_now("holderIdentity") == self._identity)

    def _is_expired(self) -> bool:
        """Return whether no change was seen for the duration that its holder wrote."""
        duration_s = self._spec_now("leaseDurationSeconds") or 0
        return bool(self._observed_s + duration_s <= concurrency.monotonic_s())


class _Bounded:
    """A transport whose calls end before the deadline for a renewal."""

    def __init__(self, inner: transports.Transport, timeout_s: float) -> None:
        self._inner, self._timeout_s = inner, timeout_s

    def send(self, request: transports.Request) -> transports.Response:
        """Return the response. Raises TransportError if there is none in time."""
        return self._inner.send(msgspec.structs.replace(request, timeout_s=self._timeout_s))

    def watch(self, request: transports.Request) -> transports.Watch:
        return self._inner.watch(request)

    def close(self) -> None:
        self._inner.close()


def _wall_text() -> str:
    """Return the time as in `renewTime`; candidates do not compare it with their clocks."""
    now = datetime.datetime.fromtimestamp(time.time_ns() / 1e9, tz=datetime.UTC)
    return now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
