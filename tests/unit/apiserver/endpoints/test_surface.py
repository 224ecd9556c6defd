"""Responses besides objects: discovery, tables, reviews, paths that are none."""

import json
from typing import Any

import pytest

from harness.apiserver.endpoints import responses
from harness.apiserver.scheme import api_types, resources

R = resources
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
REVIEWS = "/apis/authorization.k8s.io/v1"
NOW = "2026-01-02T00:00:00Z"


# ------------------------------------------------------------------ discovery


def test_both_forms_of_discovery_name_the_same_resources(live: Any) -> None:
    headers = {"Accept": f"{AGGREGATED},application/json"}
    aggregated = set()
    for path in ("/api", "/apis"):
        _, text = live.call("GET", path, headers=headers)
        for group in json.loads(text)["items"]:
            name = group["metadata"].get("name", "")
            for version in group["versions"]:
                found = {entry["resource"] for entry in version["resources"]}
                aggregated |= {(name, version["version"], plural) for plural in found}
    assert aggregated == {(item.group, item.version, item.plural) for item in R.ALL}


def test_an_openapi_document_says_that_fields_are_validated(live: Any) -> None:
    _, document = live.call("GET", "/openapi/v3/apis/resource.k8s.io/v1")
    claims = "/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims/{name}"
    patch = document["paths"][claims]["patch"]
    assert "fieldValidation" in [parameter["name"] for parameter in patch["parameters"]]
    assert patch["x-kubernetes-group-version-kind"]["kind"] == "ResourceClaim"


# ------------------------------------------------------------------ reviews


def test_who_am_i_and_what_may_i_do(live: Any) -> None:
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    _, review = live.call("POST", path, {})
    assert review["status"]["userInfo"]["username"] == "flake-hunt"
    asked: dict[str, Any] = {"spec": {"resourceAttributes": {"verb": "create", "resource": "pods"}}}
    _, review = live.call("POST", f"{REVIEWS}/selfsubjectaccessreviews", asked)
    assert review["status"] == {"allowed": True}
    asked["spec"]["user"] = "somebody"
    _, review = live.call("POST", f"{REVIEWS}/subjectaccessreviews", asked)
    assert review["status"]["allowed"] is False


# ------------------------------------------------------------------ tables


@pytest.mark.parametrize(
    ("since", "text"),
    [
        ("2026-01-02T00:00:00Z", "0s"),
        ("2026-01-01T23:58:01Z", "119s"),
        ("2026-01-01T23:58:00Z", "2m"),
        ("2026-01-01T21:00:00Z", "3h"),
        ("2025-12-31T00:00:00Z", "2d"),
        ("", "<unknown>"),
    ],
)
def test_the_age_of_an_object(since: str, text: str) -> None:
    node = {"metadata": {"name": "n", "creationTimestamp": since}}
    assert responses.row_of(R.NODES, node, now=NOW)["cells"] == ["n", "Unknown", "", text]


@pytest.mark.parametrize(
    ("status", "meta", "expected"),
    [
        ({}, {}, "Unknown"),
        ({"phase": "Pending"}, {}, "Pending"),
        ({"phase": "Failed", "reason": "Evicted"}, {}, "Evicted"),
        ({"phase": "Running"}, {"deletionTimestamp": NOW}, "Terminating"),
        ({"phase": "Succeeded"}, {"deletionTimestamp": NOW}, "Succeeded"),
    ],
)
def test_a_pod_in_a_table(status: Any, meta: Any, expected: str) -> None:
    pod = {"metadata": {"name": "p", **meta}, "spec": {"nodeName": "n"}, "status": status}
    cells = responses.row_of(R.PODS, pod, now=NOW)["cells"]
    assert cells == ["p", expected, "n", "<unknown>"]


def test_every_table_prints_an_empty_object() -> None:
    for item in R.ALL:
        empty = {**api_types.of(item).zero(), "metadata": {"name": "x"}}
        table, row = responses._table(item, {}), responses.row_of(item, empty, now=NOW)
        assert len(row["cells"]) == len(table["columnDefinitions"])
