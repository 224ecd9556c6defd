"""API calls as faults see them, against the paths that Kubernetes documents."""

import pytest

from harness.faults import api_calls

PODS = "/api/v1/namespaces/ns/pods"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims"


@pytest.mark.parametrize(
    ("method", "path", "query", "expected"),
    [
        ("GET", CLAIMS, "", ("list", "resourceclaims", "", "ns", "")),
        ("GET", CLAIMS, "watch=true&x=1", ("watch", "resourceclaims", "", "ns", "")),
        ("GET", CLAIMS, "watch=0", ("list", "resourceclaims", "", "ns", "")),
        ("GET", CLAIMS, "watch=False", ("list", "resourceclaims", "", "ns", "")),
        ("GET", CLAIMS, "watch=", ("list", "resourceclaims", "", "ns", "")),
        ("GET", CLAIMS, "watch=&watch=1", ("watch", "resourceclaims", "", "ns", "")),
        ("GET", CLAIMS, "rewatch=1", ("list", "resourceclaims", "", "ns", "")),
        ("HEAD", CLAIMS, "watch=1", ("watch", "resourceclaims", "", "ns", "")),
        ("HEAD", CLAIMS, "", ("list", "resourceclaims", "", "ns", "")),
        ("HEAD", f"{CLAIMS}/c", "", ("get", "resourceclaims", "", "ns", "c")),
        ("POST", CLAIMS, "watch=1", ("create", "resourceclaims", "", "ns", "")),
        ("DELETE", f"{CLAIMS}/", "", ("deletecollection", "resourceclaims", "", "ns", "")),
        ("GET", "/api/v1/watch/pods", "", ("watch", "pods", "", "", "")),
        ("GET", "/api/v1/watch", "", ("list", "watch", "", "", "")),
        ("GET", "/apis/resource.k8s.io/v1/watch/resourceclaims", "", ("watch", "resourceclaims", "", "", "")),
        ("GET", "/api/v1/namespaces/watch/pods", "", ("list", "pods", "", "watch", "")),
        ("PUT", "/api/v1/namespaces/ns/finalize", "", ("update", "namespaces", "finalize", "", "ns")),
        ("GET", "/api/v1/namespaces/ns/status/x", "", ("get", "status", "", "ns", "x")),
        ("GET", "/api/v1", "", ("get", "", "", "", "")),
        ("GET", f"{CLAIMS}/c", "", ("get", "resourceclaims", "", "ns", "c")),
        ("PUT", f"{CLAIMS}/c/status", "", ("update", "resourceclaims", "status", "ns", "c")),
        ("PATCH", f"{CLAIMS}/c/status", "", ("patch", "resourceclaims", "status", "ns", "c")),
        ("POST", CLAIMS, "", ("create", "resourceclaims", "", "ns", "")),
        ("DELETE", f"{CLAIMS}/c", "", ("delete", "resourceclaims", "", "ns", "c")),
        ("DELETE", CLAIMS, "", ("deletecollection", "resourceclaims", "", "ns", "")),
        ("POST", f"{PODS}/p/binding", "", ("create", "pods", "binding", "ns", "p")),
        ("GET", "/api/v1/pods", "", ("list", "pods", "", "", "")),
        ("GET", "/api/v1/watch/namespaces/ns/pods", "", ("watch", "pods", "", "ns", "")),
        ("GET", "/api/v1/namespaces", "", ("list", "namespaces", "", "", "")),
        ("GET", "/api/v1/namespaces/ns", "", ("get", "namespaces", "", "", "ns")),
        ("PUT", "/api/v1/namespaces/ns/status", "", ("update", "namespaces", "status", "", "ns")),
        ("GET", "/api/v1/nodes/worker%2D1", "", ("get", "nodes", "", "", "worker-1")),
        ("GET", "/healthz", "", ("get", "", "", "", "")),
        ("GET", "/apis/resource.k8s.io", "", ("get", "", "", "", "")),
    ],
)  # fmt: skip
def test_calls(
    method: str, path: str, query: str, expected: tuple[str, str, str, str, str]
) -> None:
    call = api_calls.parse(method, path, query)
    assert (call.verb, call.resource, call.subresource, call.namespace, call.name) == expected


@pytest.mark.parametrize(
    ("user", "client"),
    [
        ("flake-hunt:scheduler-2", "scheduler-2"),
        ("flake-hunt:flake-hunt:a", "flake-hunt:a"),
        ("x-flake-hunt:scheduler", ""),
        ("scheduler", ""),
        ("flake-hunt", ""),
    ],
)
def test_clients(user: str, client: str) -> None:
    assert api_calls.client_of(user) == client
    assert not client or api_calls.user_of(client) == user
