"""Verbs of requests in authorization and audit, the managers that they name, their options."""

from typing import Any

import msgspec
import pytest

from harness.apiserver import json_codec
from harness.apiserver.endpoints import request_info, request_options
from harness.apiserver.registry import object_deletion
from harness.apiserver.scheme import resources

PODS = "/api/v1/namespaces/default/pods"


def request(
    method: str = "POST", body: Any = None, path: str = PODS, user_agent: str = "", **query: str
) -> request_info.Request:
    return request_info.Request(
        method=method,
        path=path,
        query=query,
        headers={"user-agent": user_agent, "content-type": "application/json"},
        body=b"" if body is None else json_codec.encode(body),
    )


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
        ("POST", PODS, {}, "create"),
        ("POST", f"{PODS}/p/binding", {}, "create"),
        ("DELETE", PODS, {}, "deletecollection"),
        ("DELETE", f"{PODS}/p", {}, "delete"),
        ("PATCH", f"{PODS}/p/status", {}, "patch"),
        ("PATCH", PODS, {}, ""),
        ("POST", "/nowhere", {}, "post"),
    ],
)
def test_verbs(method: str, path: str, query: dict[str, str], verb: str) -> None:
    assert request(method, path=path, **query).verb == verb


@pytest.mark.parametrize(
    ("user_agent", "expected"),
    [
        ("kube-scheduler/v1.36 (linux) / leader", "kube-scheduler"),
        ("plain", "plain"),
        ("a\tb/1", "ab"),
        ("", ""),
        ("ü" * 100 + "/1", "ü" * 64),
    ],
)
def test_the_manager_is_the_first_part_of_the_user_agent(user_agent: str, expected: str) -> None:
    write, _ = request_options.of_write(request(user_agent=user_agent))
    assert write["manager"] == expected
    named = request(user_agent=user_agent, fieldManager="me")
    assert request_options.of_write(named)[0]["manager"] == "me"


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"fieldManager": "m" * 129}, "fieldManager: Too long"),
        ({"dryRun": "Some"}, "dryRun: Unsupported value"),
        ({"fieldValidation": "Some"}, "fieldValidation: Unsupported value"),
    ],
)
def test_options_that_do_not_exist(query: dict[str, str], field: str, refuses: Any) -> None:
    with refuses(422, "Invalid", field):
        request_options.of_write(request("PATCH", **query))


def test_appliers_must_name_a_manager(refuses: Any) -> None:
    with refuses(422, "Invalid", "fieldManager: Required value: is required for apply patch"):
        request_options.of_write(request("PATCH"), is_apply=True)


def test_the_query_of_a_deletion_counts_when_there_is_no_body() -> None:
    query = {"gracePeriodSeconds": "9", "propagationPolicy": "Background", "dryRun": "All"}
    from_query = object_deletion.DeleteOptions(grace_period_s=9, dry_run=True)
    assert request_options.deletion(request("DELETE", **query)) == from_query
    body = {"kind": "DeleteOptions", "gracePeriodSeconds": -7, "preconditions": {"uid": "u"}}
    from_body = object_deletion.DeleteOptions(grace_period_s=1, preconditions={"uid": "u"})
    assert request_options.deletion(request("DELETE", body, **query)) == from_body


@pytest.mark.parametrize(
    ("options", "code", "reason"),
    [
        ({"propagationPolicy": "Foreground"}, 501, "NotImplemented"),
        ({"orphanDependents": True}, 501, "NotImplemented"),
        ({"dryRun": ["Some"]}, 422, "Invalid"),
        ([], 400, "BadRequest"),
        ({"gracePeriodSeconds": "soon"}, 400, "BadRequest"),
    ],
)
def test_deletions_that_are_refused(options: Any, code: int, reason: str, refuses: Any) -> None:
    with refuses(code, reason, ""):
        request_options.deletion(request("DELETE", options))
    with refuses(400, "BadRequest", "expected an integer"):
        request_options.deletion(request("DELETE", gracePeriodSeconds="soon"))


# ------------------------------------------------------------------ bodies

CONFIGMAPS = request_info.Target(resource=resources.CONFIGMAPS)
CLAIMS = request_info.Target(resource=resources.CLAIMS)


def document(body: Any, target: request_info.Target = CONFIGMAPS) -> tuple[Any, list[str]]:
    validation = request_options.Validation()
    asked = msgspec.structs.replace(request(), body=body)
    return request_options.document(asked, target, validation), validation.warnings


def test_positions_in_lists_are_told() -> None:
    body = b'{"spec":{"devices":{"requests":[{"name":"a"},{"name":"b","count":1}]}}}'
    assert document(body, CLAIMS)[1] == ['unknown field "spec.devices.requests[1].count"']


@pytest.mark.parametrize("body", [b'{"kind":', b"", b"{} x", b"null", b"[]", b"\xff"])
def test_what_is_no_object(body: bytes, refuses: Any) -> None:
    with refuses(400, "BadRequest"):
        document(body)


@pytest.mark.parametrize(
    "change", [{"kind": "Secret"}, {"apiVersion": "foo/v9"}, {"kind": 5}, {"data": 1}]
)
def test_objects_of_another_kind_or_form(change: Any, refuses: Any) -> None:
    with refuses(400, "BadRequest", "not a ConfigMap: "):
        document(json_codec.encode(change))
    with refuses(422, "Invalid", "the patch is invalid: "):
        request_options.patched(change, resources.CONFIGMAPS, request_options.Validation())


def test_an_empty_object_is_one() -> None:
    assert document(b"{}") == ({"metadata": {}}, [])
