"""The resources that rules talk about, and the paths of what they write."""

import urllib.parse
from collections.abc import Mapping
from typing import Any

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
    """The path of `resource[/name[/subresource]]`; what begins with a slash is one already."""
    if target.startswith("/"):
        return target
    resource = target.partition("/")[0]
    if resource in _CLUSTER_WIDE:
        return f"{_CLUSTER_WIDE[resource]}/{target}"
    return f"{_NAMESPACED[resource]}/namespaces/{namespace}/{target}"


def is_known(target: str) -> bool:
    """Whether there is a path for it."""
    resource = target.partition("/")[0]
    return target.startswith("/") or resource in _CLUSTER_WIDE or resource in _NAMESPACED


def with_query(path: str, query: Mapping[str, Any]) -> str:
    """The path with its query."""
    texts = {key: _text(value) for key, value in query.items()}
    encoded = urllib.parse.urlencode(texts, quote_via=urllib.parse.quote)
    return f"{path}?{encoded}" if encoded else path


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
