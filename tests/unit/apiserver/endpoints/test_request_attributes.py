"""Verbs of requests in authorization and audit."""

import pytest

from harness.apiserver.endpoints import request_info

PODS = "/api/v1/namespaces/default/pods"


@pytest.mark.parametrize(
    ("method", "path", "query", "verb"),
    [
        ("GET", f"{PODS}/p", {}, "get"),
        ("HEAD", f"{PODS}/p", {}, "get"),
        ("GET", PODS, {}, "list"),
        ("GET", PODS, {"watch": "0"}, "list"),
        ("GET", PODS, {"watch": "false"}, "list"),
        ("GET", PODS, {"watch": "1"}, "watch"),
        ("GET", PODS, {"watch": "yes"}, "watch"),
        ("GET", "/api/v1/watch/namespaces/default/pods", {}, "watch"),
        ("POST", PODS, {}, "create"),
        ("POST", f"{PODS}/p/binding", {}, "create"),
        ("DELETE", PODS, {}, "deletecollection"),
        ("DELETE", f"{PODS}/p", {}, "delete"),
        ("PATCH", f"{PODS}/p/status", {}, "patch"),
        ("POST", "/nowhere", {}, "post"),
    ],
)
def test_verbs(method: str, path: str, query: dict[str, str], verb: str) -> None:
    request = request_info.Request(method=method, path=path, query=query, headers={}, body=b"")
    found = request_info.of(request)
    assert (found.verb, found.is_read) == (verb, verb in ("get", "list", "watch"))
