"""Requests of the rules: the paths of resources, queries, and JSON bodies."""

import json
import urllib.parse
from collections.abc import Mapping
from typing import Any

from harness.client import transports

_CORE = "/api/v1"
_DRA = "/apis/resource.k8s.io/v1"
_NAMESPACED = {
    "configmaps": _CORE,
    "events": _CORE,
    "pods": _CORE,
    "secrets": _CORE,
    "services": _CORE,
    "leases": "/apis/coordination.k8s.io/v1",
    "resourceclaims": _DRA,
    "resourceclaimtemplates": _DRA,
}
_CLUSTER_WIDE = {"namespaces": _CORE, "nodes": _CORE, "deviceclasses": _DRA, "resourceslices": _DRA}


def path(target: str, namespace: str) -> str:
    """Return the URL path of `resource[/name[/subresource]]`; keep a target that is a path."""
    if target.startswith("/"):
        return target
    resource = target.partition("/")[0]
    if resource in _CLUSTER_WIDE:
        return f"{_CLUSTER_WIDE[resource]}/{target}"
    return f"{_NAMESPACED[resource]}/namespaces/{namespace}/{target}"


def is_known(target: str) -> bool:
    """Return True if `path` accepts the target."""
    resource = target.partition("/")[0]
    return target.startswith("/") or resource in _CLUSTER_WIDE or resource in _NAMESPACED


def with_query(path: str, query: Mapping[str, Any]) -> str:
    """Return a path with a query; booleans become `true` and `false`."""
    texts = {key: _text(value) for key, value in query.items()}
    encoded = urllib.parse.urlencode(texts, quote_via=urllib.parse.quote)
    return f"{path}?{encoded}" if encoded else path


def send(
    transport: transports.Transport, method: str, path: str, document: object = None
) -> transports.Response:
    """Send a document as JSON, or no body if it is None, and return the response."""
    body = None if document is None else json.dumps(document).encode()
    return transport.send(transports.Request(method=method, path=path, body=body))


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
