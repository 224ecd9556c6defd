"""The verbs against the real server, and what becomes of its refusals."""

import json
from typing import Any

import pytest

from harness.client import apis, outcomes, transports

LEASE = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}}


def pod(name: str) -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    return {"metadata": {"name": name, "labels": {"app": name}}, "spec": spec}


@pytest.mark.parametrize(
    ("code", "body", "shown", "kind"),
    [
        (404, {"kind": "Status", "code": 404, "reason": "NotFound", "message": "m"}, "404 NotFound: m", "is_not_found"),
        (409, {"kind": "Status", "code": 409, "reason": "Conflict"}, "409 Conflict: ", "is_conflict"),
        (409, {"kind": "Status", "reason": "AlreadyExists"}, "409 AlreadyExists: ", "is_already_exists"),
        (410, {"kind": "Status", "code": 410, "reason": "Expired"}, "410 Expired: ", "is_gone"),
        (500, {"kind": "Status", "code": 410, "reason": "Gone"}, "410 Gone: ", "is_gone"),
        (502, b"<html>Bad Gateway</html>", "502 : <html>Bad Gateway</html>", None),
        (502, b"\xff", "502 : \N{REPLACEMENT CHARACTER}", None),
        (503, b"", "503 : (no body)", None),
        (500, b"[]", "500 : []", None),
        (500, {"kind": "Pod"}, '500 : {"kind": "Pod"}', None),
        (500, b"x" * 500, "500 : " + "x" * 400, None),
    ],
)  # fmt: skip
def test_errors(code: int, body: Any, shown: str, kind: str | None) -> None:
    error = apis.to_error(code, body if isinstance(body, bytes) else json.dumps(body).encode())
    assert str(error) == shown
    kinds = ("is_not_found", "is_conflict", "is_already_exists", "is_gone")
    assert [name for name in kinds if getattr(error, name)] == ([kind] if kind else [])


@pytest.mark.parametrize(
    ("resource", "place", "expected"),
    [
        (apis.PODS, (), "/api/v1/pods"),
        (apis.PODS, ("ns",), "/api/v1/namespaces/ns/pods"),
        (apis.PODS, ("ns", "p", "status"), "/api/v1/namespaces/ns/pods/p/status"),
        (apis.NODES, ("ignored", "n"), "/api/v1/nodes/n"),
        (
            apis.CLAIMS,
            ("ns", "c"),
            "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/c",
        ),
    ],
)
def test_paths(resource: apis.Resource, place: tuple[str, ...], expected: str) -> None:
    assert resource.path(*place) == expected


def test_the_verbs(server: Any) -> None:
    api = server.api
    made = api.create(apis.PODS, pod("a"), namespace="default")
    assert api.get(apis.PODS, "a", namespace="default") == made
    listing = api.list(apis.PODS, namespace="default", label_selector="app=a")
    assert [{"kind": "Pod", "apiVersion": "v1"} | item for item in listing.items] == [made]
    assert api.list(apis.PODS, label_selector="app=b").items == []
    made["metadata"]["labels"]["x"] = "y"
    updated = api.update(apis.PODS, made)
    assert updated["metadata"]["labels"] == {"app": "a", "x": "y"}
    updated["status"]["phase"] = "Running"
    assert api.update_status(apis.PODS, updated)["status"]["phase"] == "Running"
    api.bind(updated, "node")
    assert api.get(apis.PODS, "a", namespace="default")["spec"]["nodeName"] == "node"
    with pytest.raises(apis.ApiError, match="409 Conflict"):
        api.delete(apis.PODS, "a", namespace="default", uid="another")
    api.delete(apis.PODS, "a", namespace="default", grace_period_s=0)
    with pytest.raises(apis.ApiError, match="404 NotFound"):
        api.get(apis.PODS, "a", namespace="default")


def test_patches_of_every_kind(server: Any) -> None:
    api = server.api
    api.create(apis.LEASES, LEASE, namespace="default")

    def holder(patch: Any, kind: apis.PatchKind, **options: Any) -> str:
        patched = api.patch(apis.LEASES, "l", patch, namespace="default", kind=kind, **options)
        return str(patched["spec"]["holderIdentity"])

    def spec(value: str) -> dict[str, Any]:
        named = {"apiVersion": apis.LEASES.api_version, "kind": apis.LEASES.kind}
        return {**named, "metadata": {"name": "l"}, "spec": {"holderIdentity": value}}

    operation = {"op": "replace", "path": "/spec/holderIdentity", "value": "json"}
    assert holder([operation], apis.PatchKind.JSON) == "json"
    assert holder(spec("merge"), apis.PatchKind.MERGE) == "merge"
    assert holder(spec("strategic"), apis.PatchKind.STRATEGIC) == "strategic"
    for manager, rival in (("one", "flake-hunt"), ("two", "one")):
        applied = {"patch": spec(manager), "kind": apis.PatchKind.APPLY, "field_manager": manager}
        with pytest.raises(apis.ApiError, match=f'conflict with "{rival}"'):
            holder(**applied)
        assert holder(**applied, force=True) == manager


def test_a_watch_that_is_refused_is_an_api_error(server: Any) -> None:
    with pytest.raises(apis.ApiError, match="resourceVersion"):
        server.api.watch(apis.PODS, resource_version="none")


# ---------------------------------------------------------------- outcomes


def test_outcomes_of_answers() -> None:
    failed = {400, 401, 403, 404, 405, 409, 410, 413, 415, 422, 429}
    for status in range(100, 600):
        ok = "ok" if 200 <= status < 300 else "unknown"
        outcome = "fail" if status in failed else ok
        assert outcomes.of_status(status) == outcome
        assert outcomes.of_error(apis.ApiError(status, "", "")) == outcome


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (transports.TransportError("", sent=False), "fail"),
        (transports.TransportError("", sent=True), "unknown"),
        (ConnectionRefusedError(), "fail"),
        (ConnectionResetError(), "unknown"),
        (BrokenPipeError(), "unknown"),
        (TimeoutError(), "unknown"),
        (OSError(), "unknown"),
        (ValueError(), "unknown"),
        (KeyboardInterrupt(), "unknown"),
    ],
)
def test_outcomes_of_errors(error: BaseException, outcome: str) -> None:
    assert outcomes.of_error(error) == outcome
