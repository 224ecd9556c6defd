"""Options of a deletion in its query and its body."""

from typing import Any

import pytest

from harness.apiserver.codec import json_codec
from harness.apiserver.endpoints import request_info, request_options
from harness.apiserver.registry import object_deletion


def request(
    method: str = "POST", body: Any = None, user_agent: str = "", **query: str
) -> request_info.Request:
    return request_info.Request(
        method=method,
        path="/api/v1/namespaces/default/configmaps/c",
        query=query,
        headers={"user-agent": user_agent, "content-type": "application/json"},
        body=b"" if body is None else json_codec.encode(body),
    )


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
    assert request_options.manager(request(user_agent=user_agent)) == expected
    assert request_options.manager(request(user_agent=user_agent, fieldManager="me")) == "me"


@pytest.mark.parametrize(
    ("query", "cause"),
    [
        ({"fieldManager": "m" * 129}, "fieldManager: Too long: may not be more than 128 bytes"),
        ({"fieldManager": "a\tb"}, "invalid character U+0009 (at position 1)"),
        ({"dryRun": "Some"}, 'dryRun: Unsupported value: ["Some"]: supported values: "All"'),
        ({"force": "true"}, "force: Forbidden: may not be specified for non-apply patch"),
    ],
)
def test_options_that_do_not_exist(query: dict[str, str], cause: str, refuses: Any) -> None:
    with refuses(422, "Invalid", cause):
        request_options.check(request("PATCH", **query), "PatchOptions")


def test_appliers_must_say_who_they_are(refuses: Any) -> None:
    with refuses(422, "Invalid", "fieldManager: Required value: is required for apply patch"):
        request_options.require_manager(request("PATCH"))
    request_options.require_manager(request("PATCH", fieldManager="me"))


def test_the_query_of_a_deletion_counts_when_there_is_no_body() -> None:
    query = {"gracePeriodSeconds": "9", "propagationPolicy": "Orphan", "dryRun": "All"}
    from_query = object_deletion.DeleteOptions(grace_period_s=9, propagation="Orphan", dry_run=True)
    assert request_options.deletion(request("DELETE", **query)) == from_query
    body = {"kind": "DeleteOptions", "gracePeriodSeconds": 7, "preconditions": {"uid": "u"}}
    from_body = object_deletion.DeleteOptions(grace_period_s=7, preconditions={"uid": "u"})
    assert request_options.deletion(request("DELETE", body, **query)) == from_body


@pytest.mark.parametrize(("orphans", "policy"), [(True, "Orphan"), (False, "Background")])
def test_orphan_dependents_is_the_older_way_to_say_it(orphans: bool, policy: str) -> None:
    assert request_options.deletion_options({"orphanDependents": orphans}).propagation == policy


@pytest.mark.parametrize(
    ("given", "cause"),
    [
        ({"propagationPolicy": "Nonsense"}, '"Foreground", "Background", "Orphan", "nil"'),
        (
            {"propagationPolicy": "Orphan", "orphanDependents": True},
            "orphanDependents and deletionPropagation cannot be both set",
        ),
        ({"dryRun": ["Some"]}, 'dryRun: Unsupported value: ["Some"]'),
    ],
)
def test_deletions_that_make_no_sense(given: Any, cause: str, refuses: Any) -> None:
    with refuses(422, "Invalid", cause):
        request_options.deletion_options(given)


def test_a_negative_grace_period_is_a_second() -> None:
    assert request_options.deletion(request("DELETE", gracePeriodSeconds="-7")).grace_period_s == 1


@pytest.mark.parametrize("body", [[], {"gracePeriodSeconds": "soon"}])
def test_bodies_that_are_no_options(body: Any, refuses: Any) -> None:
    with refuses(400, "BadRequest"):
        request_options.deletion(request("DELETE", body))


def test_a_grace_period_that_is_no_number(refuses: Any) -> None:
    with refuses(400, "BadRequest", "expected an integer"):
        request_options.deletion(request("DELETE", gracePeriodSeconds="soon"))
