"""Lists of the past, and what may be asked of lists and watches."""

import http.client
import json
from typing import Any

import pytest

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


def make(live: Any, *names: str) -> list[str]:
    made = [live.call("POST", CONFIGMAPS, {"metadata": {"name": name}})[1] for name in names]
    return [item["metadata"]["resourceVersion"] for item in made]


def names(body: Any) -> list[str]:
    return [item["metadata"]["name"] for item in body["items"]]


def test_what_is_gone_may_be_deleted_with_a_list_of_the_past(live: Any) -> None:
    make(live, "b", "d")
    (version,) = make(live, "f")
    live.call("DELETE", f"{CONFIGMAPS}/d")
    past = f"{CONFIGMAPS}?resourceVersionMatch=Exact&resourceVersion={version}"
    status, deleted = live.call("DELETE", past)
    assert (status, names(deleted)) == (200, ["b", "d", "f"])
    assert live.call("GET", CONFIGMAPS)[1]["items"] == []


@pytest.mark.parametrize(
    ("query", "status", "why"),
    [
        ("resourceVersion=x", 400, "an integer"),
        ("watch=1&resourceVersion=x", 400, "an integer"),
        ("watch=1&timeoutSeconds=x", 400, "an integer"),
        ("watch=1&labelSelector=(", 400, "not a label selector"),
        ("fieldSelector=spec.x=y", 400, "no field by which"),
    ],
)
def test_what_may_not_be_asked(live: Any, query: str, status: int, why: str) -> None:
    answered, body = live.call("GET", f"{CONFIGMAPS}?{query}")
    assert answered == status
    assert why in body["message"]


def test_a_watched_table_tells_its_columns_once(live: Any) -> None:
    make(live, "a", "b")
    connection = http.client.HTTPConnection("127.0.0.1", live.port, timeout=20)
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    headers = {"Authorization": "Bearer secret-of-the-tests", "Accept": accept}
    connection.request("GET", f"{CONFIGMAPS}?watch=1", headers=headers)
    answer = connection.getresponse()
    first, second = (json.loads(answer.readline())["object"] for _ in range(2))
    connection.close()
    assert [column["name"] for column in first["columnDefinitions"]] == ["Name", "Age"]
    assert second["columnDefinitions"] is None
