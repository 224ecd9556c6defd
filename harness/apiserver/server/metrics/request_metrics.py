"""Counts of requests and their durations, by what was asked: the cheap part of `/metrics`.

A request costs two additions and one entry of a list; the durations are taken once for all
requests of a loop iteration, when their commits are written.
"""

import bisect
import collections
from typing import TypeAlias

from harness.apiserver.endpoints import request_attributes, request_info
from harness.apiserver.scheme import resources

LIMITS_S = (
    *(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20),
    *(30, 45, 60),
)
"""Upper limits of the buckets of durations, in seconds; those of kube-apiserver."""
_APPLY = "application/apply-patch"
_HEALTH = ("/healthz", "/livez", "/readyz")


Key: TypeAlias = tuple[str, resources.ResourceType | None, str, bool, bool, bool]
"""All that kube-apiserver tells requests apart by, but the code: verb (`get`, …, as in
authorization, and `apply`), resource (None: a non-resource path), subresource (of a health check
its path), and whether it names an object, is in a namespace, and is a dry run."""


class Durations:
    """The requests of one key and code: how many lasted how long."""

    __slots__ = ("counts", "sum_s")

    def __init__(self) -> None:
        self.counts = [0] * (len(LIMITS_S) + 1)
        """By bucket, each without those below; the last one is for longer durations."""
        self.sum_s = 0.0


class RequestMetrics:
    """All requests of one server."""

    def __init__(self) -> None:
        self.by_code: dict[tuple[Key, int], Durations] = collections.defaultdict(Durations)
        self.long_running: collections.Counter[Key] = collections.Counter()
        """Watches that are open."""
        self.in_flight = {True: 0, False: 0}
        """Requests that have begun and have no response yet; by whether they only read."""
        self._answered: list[tuple[tuple[Key, int], float]] = []
        """Requests of this loop iteration, and when they began."""

    def answered(self, key: Key, code: int, since_s: float) -> None:
        """Count a request that has its response; `since_s`: when it began, on the loop's clock."""
        self._answered.append(((key, code), since_s))

    def settle(self, now_s: float) -> None:
        """Take the durations of the requests whose responses are sent now."""
        if self._answered:
            for labels, since_s in self._answered:
                found, seconds = self.by_code[labels], now_s - since_s
                found.counts[bisect.bisect_left(LIMITS_S, seconds)] += 1
                found.sum_s += seconds
            self._answered.clear()


class RequestCount:
    """One request, from its beginning until it counts."""

    __slots__ = ("_is_counted", "_key", "_metrics", "_only_reads", "_since_s")

    def __init__(
        self,
        metrics: RequestMetrics,
        request: request_info.Request,
        asked: request_attributes.Attributes,
        now_s: float,
    ) -> None:
        """`now_s`: the loop's clock."""
        self._metrics, self._since_s, self._is_counted = metrics, now_s, False
        self._key, self._only_reads = _key_of(request, asked), asked.is_read
        metrics.in_flight[self._only_reads] += 1

    def end(self, status: int | None) -> None:
        """Count the request, once; None: a fault has made it vanish, so that nothing counts."""
        if not self._is_counted:
            self._is_counted = True
            self._metrics.in_flight[self._only_reads] -= 1
            if status is not None:
                self._metrics.answered(self._key, status, self._since_s)

    def begin_watch(self) -> None:
        """Count the request as a watch that is open, and in flight no longer."""
        self._is_counted = True
        self._metrics.in_flight[self._only_reads] -= 1
        self._metrics.long_running[self._key] += 1

    def end_watch(self) -> None:
        """Count the watch, which has ended."""
        self._metrics.long_running[self._key] -= 1
        self._metrics.answered(self._key, 200, self._since_s)


def _key_of(request: request_info.Request, asked: request_attributes.Attributes) -> Key:
    """Return what a request asks, as labels; unknown paths are one, whatever they are."""
    target = asked.target
    if target is None:
        path = request.path if request.path in _HEALTH else ""
        return (asked.verb, None, path, False, False, False)
    verb = asked.verb
    if verb == "patch" and request.headers.get("content-type", "").startswith(_APPLY):
        verb = "apply"
    return (
        verb,
        target.resource,
        target.subresource,
        bool(target.name) or verb == "create",
        bool(target.namespace),
        "dryRun" in request.query,
    )
