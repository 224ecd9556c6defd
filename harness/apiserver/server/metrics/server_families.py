"""The families of `/metrics`, with the names and labels of kube-apiserver.

Source: staging/src/k8s.io/apiserver/pkg/endpoints/metrics and pkg/storage/etcd3/metrics of
Kubernetes 1.34.
"""

import collections
import itertools
from collections.abc import Iterable, Iterator, Mapping

from harness.apiserver.endpoints import responses
from harness.apiserver.errors import status_errors
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import resources
from harness.apiserver.server.metrics import request_metrics
from harness.metrics import metric_families

PATH = "/metrics"
_LABELS = ("verb", "group", "version", "resource", "subresource", "scope", "component")
_VERBS = {"create": "POST", "update": "PUT"}
"""Verbs of metrics that are not those of authorization in capital letters."""
_KNOWN = frozenset(
    {"GET", "LIST", "WATCH", "POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"}
)
_Labels = tuple[str, ...]


def answer(
    method: str, metrics: request_metrics.RequestMetrics, store: stores.Store
) -> responses.Response:
    """Return the response to a request for the metrics.

    Raises StatusError 405 for a method that does not read.
    """
    if method not in ("GET", "HEAD"):
        raise status_errors.method_not_allowed()
    text = metric_families.render(_collect(metrics, store))
    return responses.Response(200, text.encode(), metric_families.CONTENT_TYPE)


def _collect(
    metrics: request_metrics.RequestMetrics, store: stores.Store
) -> Iterator[metric_families.Family]:
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


def _request_total(metrics: request_metrics.RequestMetrics) -> metric_families.Family:
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


def _request_durations(metrics: request_metrics.RequestMetrics) -> metric_families.Family:
    counts: dict[_Labels, list[int]] = {}
    sums: dict[_Labels, float] = collections.defaultdict(float)
    for (key, _), found in metrics.by_code.items():
        labels = (*_labels(key), _dry_run(key))
        before = counts.setdefault(labels, [0] * len(found.counts))
        counts[labels] = [one + other for one, other in zip(before, found.counts, strict=True)]
        sums[labels] += found.sum_s
    limits = [*map(metric_families.limit_text, request_metrics.LIMITS_S), "+Inf"]
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


def _labels(key: request_metrics.Key) -> _Labels:
    verb, resource, subresource, has_name, has_namespace, _ = key
    shown = _VERBS.get(verb, verb.upper())
    shown = shown if shown in _KNOWN else "other"
    if resource is None:
        return (shown, "", "", "", subresource, "", "apiserver")
    scope = "resource" if has_name else "namespace" if has_namespace else "cluster"
    kind = (resource.group, resource.version, resource.plural)
    return (shown, *kind, subresource, scope, "apiserver")


def _dry_run(key: request_metrics.Key) -> str:
    return "All" if key[-1] else ""


def _added(samples: Iterable[tuple[_Labels, float]]) -> dict[_Labels, float]:
    """Return the sums by labels: several keys may have the same, such as unknown verbs."""
    found: dict[_Labels, float] = collections.defaultdict(float)
    for labels, value in samples:
        found[labels] += value
    return found
