"""Responses besides objects: discovery, tables, reviews, paths that are none."""

import base64
import hashlib
import json
from typing import Any

import pytest

from harness.apiserver.printers import cells, columns, pod_cells, printed_tables
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


def test_what_discovery_says_of_storage() -> None:
    digest = hashlib.sha256(b"/v1/Event").digest()[:8]
    assert R.NEW_EVENTS.storage_version_hash == base64.b64encode(digest).decode()


def test_every_stored_kind_has_a_schema_and_unique_names() -> None:
    stored = [item for item in R.ALL if item.is_stored]
    for item in stored:
        assert api_types.of(item).fields["metadata"]
    shorts = [
        (item.group, item.version, name)
        for item in stored
        for name in (item.plural, *item.short_names)
    ]
    assert len(shorts) == len(set(shorts))


@pytest.mark.parametrize(
    ("method", "path", "status", "is_json"),
    [
        ("GET", "/nowhere", 404, False),
        ("GET", "/apis/nowhere.example", 404, False),
        ("GET", "/api/v2", 404, True),
        ("GET", "/api/v1/nowhere", 404, True),
        ("GET", "/healthz/", 404, False),
        ("GET", "/healthz/nonsense", 404, False),
        ("GET", "//api/v1/pods", 404, False),
        ("GET", "/api/v1/namespaces//pods", 200, True),
        ("GET", "/api/v1/nodes/", 200, True),
        ("OPTIONS", "/api/v1/nodes", 405, True),
        ("DELETE", "/api/v1/namespaces", 405, True),
        ("POST", "/api/v1/pods", 405, True),
        ("GET", "/api/v1/namespaces/default/pods/x/binding", 405, True),
        ("GET", "/api/v1/namespaces/default/pods/x/log", 501, True),
        ("GET", "/openapi/v3/apis/nowhere", 404, False),
        ("GET", "/openapi/v2", 200, True),
    ],
)
def test_paths(live: Any, method: str, path: str, status: int, is_json: bool) -> None:
    with live.connect() as connection:
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        connection.sendall(f"{head}Authorization: Bearer secret-of-the-tests\r\n\r\n".encode())
        answer = b""
        while data := connection.recv(65536):
            answer += data
    assert int(answer.split()[1]) == status, answer[:300]
    assert (b"Content-Type: application/json" in answer) is is_json


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
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (121, "2m1s"),
        (600, "10m"),
        (3 * 3600, "3h"),
        (3 * 3600 + 60, "3h1m"),
        (8 * 3600, "8h"),
        (2 * 86_400, "2d"),
        (2 * 86_400 + 3600, "2d1h"),
        (8 * 86_400, "8d"),
        (2 * 365 * 86_400, "2y"),
        (2 * 365 * 86_400 + 86_400, "2y1d"),
        (9 * 365 * 86_400, "9y"),
    ],
)
def test_durations(seconds: int, text: str) -> None:
    assert cells.human(seconds) == text


RUNNING: dict[str, Any] = {"running": {}}
COMPLETED: dict[str, Any] = {"terminated": {"exitCode": 0, "reason": "Completed"}}


def test_a_pod_in_a_table() -> None:
    container = {"name": "a", "ready": True, "restartCount": 2, "state": RUNNING}
    ended = {"terminated": {"finishedAt": "2026-01-01T23:59:00Z"}}
    pod = {
        "metadata": {"name": "p", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"containers": [{"name": "a"}, {"name": "b"}], "nodeName": "n"},
        "status": {"phase": "Running", "containerStatuses": [container | {"lastState": ended}]},
    }
    row = printed_tables.row(R.PODS, pod, now=NOW)
    assert row["cells"][:5] == ["p", "1/2", "Running", "2 (60s ago)", "24h"]
    assert row["cells"][5:] == ["<none>", "n", "<none>", "<none>"]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, "Unknown"),
        ({"phase": "Pending"}, "Pending"),
        ({"phase": "Failed", "reason": "Evicted"}, "Evicted"),
        (
            {"containerStatuses": [{"state": {"waiting": {"reason": "CrashLoopBackOff"}}}]},
            "CrashLoopBackOff",
        ),
        ({"containerStatuses": [{"state": {"terminated": {"exitCode": 3}}}]}, "ExitCode:3"),
        (
            {"containerStatuses": [{"state": COMPLETED}, {"ready": True, "state": RUNNING}]},
            "NotReady",
        ),
    ],
)
def test_the_state_of_a_pod(status: dict[str, Any], expected: str) -> None:
    assert pod_cells.status({"metadata": {}, "status": status}) == expected


@pytest.mark.parametrize(
    ("first", "second", "ready", "state"),
    [
        ({"running": {}}, None, "0/2", "Init:0/2"),
        ({"terminated": {"exitCode": 1}}, None, "0/2", "Init:ExitCode:1"),
        ({"terminated": {"signal": 9, "exitCode": 137}}, None, "0/2", "Init:Signal:9"),
        ({"waiting": {"reason": "ErrImagePull"}}, None, "0/2", "Init:ErrImagePull"),
        ({"waiting": {"reason": "PodInitializing"}}, None, "0/2", "Init:0/2"),
        (COMPLETED, {"started": False, "state": RUNNING}, "0/2", "Init:1/2"),
        (COMPLETED, {"started": True, "ready": True, "state": RUNNING}, "1/2", "Pending"),
    ],
)
def test_a_pod_that_is_initialized(
    first: dict[str, Any], second: dict[str, Any] | None, ready: str, state: str
) -> None:
    statuses = [{"name": "i", "state": first, "restartCount": 3}]
    if second:
        statuses.append({"name": "sidecar", "restartCount": 1, **second})
    pod = {
        "metadata": {},
        "spec": {
            "containers": [{"name": "c"}],
            "initContainers": [{"name": "i"}, {"name": "sidecar", "restartPolicy": "Always"}],
        },
        "status": {"phase": "Pending", "initContainerStatuses": statuses},
    }
    assert (pod_cells.ready(pod), pod_cells.status(pod)) == (ready, state)
    restarts = {"Pending": "1", "Init:1/2": "4"}.get(state, "3")
    assert pod_cells.restarts(pod, NOW) == restarts


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"phase": "Running"}, "Terminating"),
        ({"phase": "Succeeded"}, "Succeeded"),
        ({"phase": "Running", "reason": "NodeLost"}, "Unknown"),
    ],
)
def test_a_pod_that_is_deleted(status: dict[str, Any], expected: str) -> None:
    pod = {"metadata": {"deletionTimestamp": NOW}, "status": status}
    assert pod_cells.status(pod) == expected


def test_every_table_prints_an_empty_object_and_describes_its_columns() -> None:
    for item in R.ALL:
        empty = {"metadata": {"name": "x"}, **api_types.of(item).zero()} | {
            "metadata": {"name": "x"}
        }
        table, row = printed_tables.table(item, meta={}), printed_tables.row(item, empty, now=NOW)
        assert len(row["cells"]) == len(table["columnDefinitions"])
        assert all(column["description"] for column in table["columnDefinitions"]), item.kind
    known = {(item.group, item.kind) for item in R.ALL}
    assert set(columns.COLUMNS) <= known
