"""Requests that faulty clients might send."""

import json
from typing import Any

from hypothesis import strategies as st

TEXTS = st.one_of(
    st.sampled_from(["", "a", "a/b", "-", "Ä", "\x00", "1", "true", "null", "{}", "a" * 300]),
    st.text(max_size=12),
)
NUMBERS = st.one_of(
    st.sampled_from([0, -1, 1, 1.5, 2**31, 2**63, -(2**63), 2**64, 10**30, 1e308]),
    st.integers(-100, 100),
)
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=12,
)
META = {
    "name": "fuzz",
    "labels": {"a": "b"},
    "finalizers": ["example.com/a"],
    "annotations": {"c": "d"},
}
_REQUEST = {
    "name": "gpu",
    "exactly": {
        "deviceClassName": "c",
        "count": 1,
        "selectors": [{"cel": {"expression": "true"}}],
        "tolerations": [{"key": "a", "operator": "Exists"}],
    },
}
_DEVICES = {
    "requests": [
        _REQUEST,
        {"name": "b", "firstAvailable": [{"name": "c", "deviceClassName": "c"}]},
    ],
    "constraints": [{"requests": ["gpu"], "matchAttribute": "example.com/a"}],
    "config": [{"requests": ["gpu"], "opaque": {"driver": "example.com", "parameters": {"a": 1}}}],
}
_ALLOCATION = {
    "devices": {
        "results": [{"request": "gpu", "driver": "example.com", "pool": "p", "device": "d"}]
    },
    "nodeSelector": {
        "nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}
        ]
    },
}
DOCUMENTS: dict[str, Any] = {
    "/api/v1/namespaces/default/configmaps": {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": META,
        "data": {"a": "1"},
        "immutable": False,
    },
    "/api/v1/namespaces/default/pods": {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": META,
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "image": "i",
                    "ports": [{"containerPort": 80}],
                    "resources": {"requests": {"cpu": "1"}, "claims": [{"name": "x"}]},
                }
            ],
            "resourceClaims": [{"name": "x", "resourceClaimName": "c"}],
            "tolerations": [{"key": "a", "operator": "Exists"}],
            "nodeSelector": {"a": "b"},
        },
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    },
    "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims": {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": META,
        "spec": {"devices": _DEVICES},
        "status": {
            "allocation": _ALLOCATION,
            "reservedFor": [{"resource": "pods", "name": "a", "uid": "u"}],
            "devices": [{"driver": "example.com", "pool": "p", "device": "d"}],
        },
    },
    "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates": {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": META,
        "spec": {"spec": {"devices": _DEVICES}},
    },
    "/apis/resource.k8s.io/v1/deviceclasses": {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": META,
        "spec": {
            "selectors": [{"cel": {"expression": "device.driver == 'x'"}}],
            "config": [{"opaque": {"driver": "example.com", "parameters": {}}}],
        },
    },
    "/apis/resource.k8s.io/v1/resourceslices": {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": META,
        "spec": {
            "driver": "example.com",
            "nodeName": "n",
            "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
            "devices": [
                {
                    "name": "d",
                    "attributes": {"a": {"string": "x"}},
                    "capacity": {"m": {"value": "1Gi"}},
                    "taints": [{"key": "a", "effect": "NoSchedule"}],
                }
            ],
        },
    },
    "/apis/coordination.k8s.io/v1/namespaces/default/leases": {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": META,
        "spec": {
            "holderIdentity": "h",
            "leaseDurationSeconds": 15,
            "renewTime": "2024-01-01T00:00:00.000000Z",
        },
    },
    "/api/v1/namespaces/default/events": {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": META,
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "x"},
        "reason": "r",
        "type": "Normal",
        "count": 1,
    },
    "/api/v1/nodes": {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": META,
        "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]},
        "status": {"capacity": {"cpu": "4"}},
    },
}
COLLECTIONS = st.sampled_from(sorted(DOCUMENTS))
PATCH_TYPES = st.sampled_from(
    [
        f"application/{kind}"
        for kind in (
            "json-patch+json",
            "merge-patch+json",
            "strategic-merge-patch+json",
            "apply-patch+yaml",
        )
    ]
)
CONTENT_TYPES = st.one_of(
    PATCH_TYPES,
    st.sampled_from(
        [
            "application/json",
            "application/yaml",
            "application/vnd.kubernetes.protobuf",
            "application/cbor",
            "text/plain",
            "x",
            ";",
            "application/json; charset=nonsense",
        ]
    ),
)
ACCEPTS = st.sampled_from(
    [
        "application/json",
        "*/*",
        "application/json;as=Table;v=v1;g=meta.k8s.io",
        "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
        "text/html",
        ";;",
        "application/json;q=x",
        "application/vnd.kubernetes.protobuf",
        "application/yaml",
        "application/json;stream=watch",
    ]
)
_PATHS = [
    "",
    "/metadata",
    "/metadata/labels",
    "/metadata/labels/a",
    "/metadata/finalizers/0",
    "/metadata/finalizers/-",
    "/spec",
    "/status",
    "/kind",
    "/apiVersion",
    "/metadata/name",
    "/metadata/uid",
    "/data/a",
    "/nope/x",
    "x",
    "/metadata/labels/~1",
    "/metadata/finalizers/99999999999999999999",
]
_OPERATIONS = st.fixed_dictionaries(
    {},
    optional={
        "op": st.one_of(
            st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]), SCALARS
        ),
        "path": st.one_of(st.sampled_from(_PATHS), SCALARS),
        "from": st.one_of(st.sampled_from(_PATHS), SCALARS),
        "value": JSON,
    },
)
JSON_PATCHES = st.one_of(st.lists(_OPERATIONS, max_size=4), JSON)


@st.composite
def damaged(draw: st.DrawFn) -> tuple[str, Any]:
    """A collection, and a document for it in which a few values are something else."""
    collection = draw(COLLECTIONS)
    document = json.loads(json.dumps(DOCUMENTS[collection]))
    for _ in range(draw(st.integers(1, 3))):
        holder, key = draw(st.sampled_from(_places(document)))
        match draw(st.integers(0, 3)):
            case 0 if isinstance(holder, dict):
                holder.pop(key, None)
            case 1 if isinstance(holder, dict):
                holder[draw(TEXTS)] = draw(JSON)
            case _ if isinstance(holder, dict) or key < len(holder):
                holder[key] = draw(JSON)
    return collection, document


def _places(value: Any) -> list[tuple[Any, Any]]:
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    inner = [value[key] for key in keys if isinstance(value[key], dict | list) and value[key]]
    return [(value, key) for key in keys] + [place for item in inner for place in _places(item)]


QUERY_KEYS = st.sampled_from(
    [
        "limit",
        "continue",
        "resourceVersion",
        "resourceVersionMatch",
        "labelSelector",
        "fieldSelector",
        "dryRun",
        "fieldManager",
        "fieldValidation",
        "force",
        "gracePeriodSeconds",
        "propagationPolicy",
        "orphanDependents",
        "pretty",
        "sendInitialEvents",
        "allowWatchBookmarks",
        "x",
    ]
)
QUERY_VALUES = st.one_of(
    st.sampled_from(
        [
            "",
            "0",
            "1",
            "-1",
            "abc",
            "true",
            "All",
            "Exact",
            "NotOlderThan",
            "Background",
            "Foreground",
            "Strict",
            "a=b",
            "a in (b",
            "!a",
            "metadata.name=a",
            "99999999999999999999999",
            "%",
            "a,,b",
            "Ä",
        ]
    ),
    st.text(max_size=8),
)
QUERIES = st.lists(st.tuples(QUERY_KEYS, QUERY_VALUES), max_size=4)
SEGMENTS = st.sampled_from(
    [
        "api",
        "apis",
        "v1",
        "v2",
        "resource.k8s.io",
        "coordination.k8s.io",
        "namespaces",
        "default",
        "kube-system",
        "pods",
        "configmaps",
        "resourceclaims",
        "nodes",
        "a",
        "status",
        "binding",
        "eviction",
        "scale",
        "log",
        "exec",
        "proxy",
        "finalize",
        "watch",
        "healthz",
        "livez",
        "readyz",
        "metrics",
        "version",
        "openapi",
        "v3",
        "%2F",
        "..",
        ".",
        "",
        "%00",
        "%zz",
        "é",
    ]
)
PATHS = st.lists(SEGMENTS, min_size=1, max_size=8)
METHODS = st.sampled_from(
    ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "NONSENSE"]
)
