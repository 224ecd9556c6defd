"""The families of `/metrics`, with the names and labels of kube-apiserver.

Source: staging/src/k8s.io/apiserver/pkg/endpoints/metrics and pkg/storage/etcd3/metrics of
Kubernetes 1.34.
"""

import bisect
import collections
import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from harness.apiserver.endpoints import request_info, responses
from harness.apiserver.errors import status_errors
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import resources
from harness.metrics import metric_families

LIMITS_S = (
    *(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20),
    *(30, 45, 60),
)
"""Upper limits of the buckets of durations, in seconds; those of kube-apiserver."""
_APPLY = "application/apply-patch"
_HEALTH = ("/healthz", "/livez", "/readyz")


Key: TypeAlias = tuple[str, resources.ResourceType | None, str, bool, bool, bool]
"""The labels by which kube-apiserver distinguishes requests, without the code: verb (`get`, …, as
in authorization, and `apply`), resource (None: a non-resource path), subresource (of a health check
its path), and whether it names an object, is in a namespace, and is a dry run."""


class Durations:
    """The requests of one key and code: how many lasted how long."""

    __slots__ = ("counts", "sum_s")

    def __init__(self) -> None:
        self.counts = [0] * (len(LIMITS_S) + 1)
        """Counts by bucket, each without those below; the last one is for longer durations."""
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
        asked: request_info.Attributes,
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


def _key_of(request: request_info.Request, asked: request_info.Attributes) -> Key:
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


PATH = "/metrics"
_LABELS = ("verb", "group", "version", "resource", "subresource", "scope", "component")
_VERBS = {"create": "POST", "update": "PUT"}
"""Verbs of metrics that are not those of authorization in capital letters."""
_KNOWN = frozenset(
    {"GET", "LIST", "WATCH", "POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"}
)
_Labels = tuple[str, ...]


def answer(method: str, metrics: RequestMetrics, store: stores.Store) -> responses.Response:
    """Return the response to a request for the metrics.

    Raises StatusError 405 for a method that does not read.
    """
    if method not in ("GET", "HEAD"):
        raise status_errors.method_not_allowed()
    text = metric_families.render(_collect(metrics, store))
    return responses.Response(200, text.encode(), metric_families.CONTENT_TYPE)


def _collect(metrics: RequestMetrics, store: stores.Store) -> Iterator[metric_families.Family]:
    yield _request_total(metrics)
    yield _request_durations(metrics)
    kinds = {("readOnly",): True, ("mutating",): False}
    yield metric_families.Family(
        "apiserver_current_inflight_requests",
        "Requests without a response yet, most of which a fault delays, split by request kind.",
        "gauge",
        ("request_kind",),
        {labels: metrics.in_flight[only_reads] for labels, only_reads in kinds.items()},
    )
    yield metric_families.Family(
        "apiserver_longrunning_requests",
        "Gauge of all active long-running apiserver requests: the watches.",
        "gauge",
        _LABELS,
        _added((_labels(key), count) for key, count in metrics.long_running.items() if count),
    )
    yield from _objects(store.counts())
    yield from metric_families.process_families()


def _request_total(metrics: RequestMetrics) -> metric_families.Family:
    samples = (
        ((*_labels(key), _dry_run(key), str(code)), sum(found.counts))
        for (key, code), found in metrics.by_code.items()
    )
    return metric_families.Family(
        "apiserver_request_total",
        "Counter of apiserver requests broken out for each verb, dry run value, group, version, "
        "resource, scope, component, and HTTP response code.",
        "counter",
        (*_LABELS, "dry_run", "code"),
        _added(samples),
    )


def _request_durations(metrics: RequestMetrics) -> metric_families.Family:
    counts: dict[_Labels, list[int]] = {}
    sums: dict[_Labels, float] = collections.defaultdict(float)
    for (key, _), found in metrics.by_code.items():
        labels = (*_labels(key), _dry_run(key))
        before = counts.setdefault(labels, [0] * len(found.counts))
        counts[labels] = [one + other for one, other in zip(before, found.counts, strict=True)]
        sums[labels] += found.sum_s
    limits = [*map(metric_families.limit_text, LIMITS_S), "+Inf"]
    samples: dict[_Labels, float] = {
        (*labels, limit): count
        for labels, found_counts in counts.items()
        for limit, count in zip(limits, itertools.accumulate(found_counts), strict=True)
    }
    return metric_families.Family(
        "apiserver_request_duration_seconds",
        "Response latency distribution in seconds for each verb, dry run value, group, version, "
        "resource, subresource, scope and component; of a watch, from its start to its end.",
        "histogram",
        (*_LABELS, "dry_run", "le"),
        samples,
        sums,
    )


def _objects(counts: Mapping[resources.ResourceType, int]) -> Iterator[metric_families.Family]:
    yield metric_families.Family(
        "apiserver_resource_objects",
        "Number of stored objects.",
        "gauge",
        ("group", "resource"),
        {(item.group, item.plural): count for item, count in counts.items()},
    )
    yield metric_families.Family(
        "apiserver_storage_objects",
        "[DEPRECATED, consider using apiserver_resource_objects instead] Number of stored objects.",
        "gauge",
        ("resource",),
        {(item.qualified,): count for item, count in counts.items()},
    )


def _labels(key: Key) -> _Labels:
    verb, resource, subresource, has_name, has_namespace, _ = key
    shown = _VERBS.get(verb, verb.upper())
    shown = shown if shown in _KNOWN else "other"
    if resource is None:
        return (shown, "", "", "", subresource, "", "apiserver")
    scope = "resource" if has_name else "namespace" if has_namespace else "cluster"
    kind = (resource.group, resource.version, resource.plural)
    return (shown, *kind, subresource, scope, "apiserver")


def _dry_run(key: Key) -> str:
    return "All" if key[-1] else ""


def _added(samples: Iterable[tuple[_Labels, float]]) -> dict[_Labels, float]:
    """Return the sums by labels: several keys may have the same, such as unknown verbs."""
    found: dict[_Labels, float] = collections.defaultdict(float)
    for labels, value in samples:
        found[labels] += value
    return found
