"""Answers and watches in protobuf: to whom, and that they say what the same answers say in JSON."""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from harness.apiserver.codec import protobuf_wire
from harness.apiserver.endpoints import negotiation
from harness.apiserver.scheme import api_types, resources
from harness.apiserver.serializer import decoding, protobuf

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
PROTOBUF = negotiation.PROTOBUF
CLIENT_GO = f"{PROTOBUF},application/json"
PARTIAL = f"{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIAL_LIST = f"{PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
TABLE = f"{PROTOBUF};as=Table;g=meta.k8s.io;v=v1"
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
POD = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": {"name": "p", "labels": {"a": "b"}},
    "spec": {
        "containers": [
            {
                "name": "c", "image": "i", "resources": {"requests": {"cpu": "500m"}},
                "livenessProbe": {"httpGet": {"path": "/", "port": "web"}, "periodSeconds": 7},
                "env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
            }
        ],
        "volumes": [{"name": "v", "emptyDir": {}}],
        "tolerations": [{"key": "t", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}],
    },
}  # fmt: skip


def read(data: bytes) -> dict[str, Any]:
    api_version, kind, message = protobuf.open_envelope(data)
    named = {"kind": kind, "apiVersion": api_version}
    if kind == "PartialObjectMetadata":
        ((number, meta),) = protobuf_wire.read(message)
        assert number == 1
        return named | {"metadata": protobuf.read(api_types.definition(f"{META}ObjectMeta"), meta)}
    group, _, version = api_version.rpartition("/")
    if kind.endswith("List"):
        return named | read_list(message, api_version, kind.removesuffix("List"))
    found = api_types.of_kind(group, version, kind)
    document = decoding.read(found, protobuf.read(found, message), decoding.Tally())
    return named | {key: value for key, value in document.items() if key not in named}


def read_list(message: bytes, api_version: str, kind: str) -> dict[str, Any]:
    found: dict[str, Any] = {"items": []}
    for number, raw in protobuf_wire.read(message):
        if number == 1:
            found["metadata"] = protobuf.read(api_types.definition(f"{META}ListMeta"), raw)
        else:
            item = read(protobuf.enveloped(api_version, kind, raw))
            found["items"].append(
                {key: item[key] for key in item if key not in ("kind", "apiVersion")}
            )
    return found


def in_protobuf(
    live: Any, method: str, path: str, body: Any = None, accept: str = CLIENT_GO
) -> Any:
    """(status, document) of a request whose answer must be in protobuf."""
    status, made = live.call(method, path, body, headers={"Accept": accept})
    assert isinstance(made, bytes), made
    return status, read(made)


@pytest.fixture
def pod(live: Any) -> dict[str, Any]:
    status, made = live.call("POST", PODS, POD)
    assert status == 201, made
    found: dict[str, Any] = live.call("GET", f"{PODS}/p")[1]
    return found


def test_an_object_and_a_list_say_what_they_say_in_json(live: Any, pod: dict[str, Any]) -> None:
    assert in_protobuf(live, "GET", f"{PODS}/p") == (200, pod)
    listed = live.call("GET", PODS)[1]
    assert len(listed["items"]) == 1
    assert in_protobuf(live, "GET", PODS) == (200, listed)


def test_a_long_list_comes_in_pieces(live: Any) -> None:
    """And says what it says in JSON; the bytes of one piece are no whole message."""
    data = {"text": "x" * 1000}
    for number in range(150):
        made = live.call("POST", CONFIGMAPS, {"metadata": {"name": f"c{number}"}, "data": data})
        assert made[0] == 201
    expected = live.call("GET", CONFIGMAPS)[1]
    with live.streaming(CONFIGMAPS, Accept=CLIENT_GO) as answer:
        assert answer.headers["Transfer-Encoding"] == "chunked"
        assert answer.headers["Content-Type"] == PROTOBUF
        assert read(answer.read()) == expected


def test_what_was_written_is_answered_in_protobuf(live: Any) -> None:
    status, made = in_protobuf(
        live, "POST", CONFIGMAPS, {"metadata": {"name": "c"}, "data": {"a": "1"}}
    )
    assert (status, made["data"]) == (201, {"a": "1"})
    made["data"]["a"] = "2"
    status, made = in_protobuf(live, "PUT", f"{CONFIGMAPS}/c", made)
    assert (status, made["data"]) == (200, {"a": "2"})
    headers = {"Accept": CLIENT_GO, "Content-Type": "application/merge-patch+json"}
    status, patched = live.call("PATCH", f"{CONFIGMAPS}/c", {"data": {"a": "3"}}, headers=headers)
    assert (status, read(patched)["data"]) == (200, {"a": "3"})
    status, deleted = in_protobuf(live, "DELETE", f"{CONFIGMAPS}/c")
    assert (status, deleted["kind"], deleted["status"]) == (200, "Status", "Success")


def test_what_a_binding_is_answered(live: Any, pod: dict[str, Any]) -> None:
    binding = {
        "metadata": {"name": pod["metadata"]["name"]},
        "target": {"kind": "Node", "name": "n"},
    }
    status, answer = in_protobuf(live, "POST", f"{PODS}/p/binding", binding)
    assert (status, answer["status"]) == (201, "Success")


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        (PROTOBUF, PROTOBUF),
        (CLIENT_GO, PROTOBUF),
        (f"{PROTOBUF}, */*", PROTOBUF),
        (f"application/json,{PROTOBUF}", "application/json"),
        (f"{PROTOBUF};q=0.5,application/json", "application/json"),
        ("*/*", "application/json"),
        ("", "application/json"),
        (f"{TABLE},application/json", "application/json"),
    ],
)
def test_who_is_answered_in_protobuf(live: Any, accept: str, media: str) -> None:
    status, answer = live.call("GET", CONFIGMAPS, headers={"Accept": accept})
    assert status == 200
    assert isinstance(answer, bytes) is (media == PROTOBUF)


def test_what_goes_wrong_is_told_in_protobuf(live: Any) -> None:
    expected = live.call("GET", f"{CONFIGMAPS}/none")[1]
    assert in_protobuf(live, "GET", f"{CONFIGMAPS}/none") == (404, expected)
    status, answer = in_protobuf(live, "POST", CONFIGMAPS, b"{", accept=PROTOBUF)
    assert (status, answer["reason"]) == (400, "BadRequest")


def test_tables_are_no_messages(live: Any) -> None:
    status, answer = in_protobuf(live, "GET", CONFIGMAPS, accept=TABLE)
    assert (status, answer["reason"]) == (406, "NotAcceptable")
    assert "*v1.Table does not implement the protobuf marshalling interface" in answer["message"]


def test_metadata_alone(live: Any, pod: dict[str, Any]) -> None:
    status, part = in_protobuf(live, "GET", f"{PODS}/p", accept=PARTIAL)
    named = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
    assert (status, part) == (200, named | {"metadata": pod["metadata"]})
    status, listed = in_protobuf(live, "GET", PODS, accept=PARTIAL_LIST)
    assert (status, listed["kind"]) == (200, "PartialObjectMetadataList")
    assert listed["items"] == [{"metadata": pod["metadata"]}]


# ------------------------------------------------------------------ watches


@contextlib.contextmanager
def watching(live: Any, path: str, accept: str = CLIENT_GO) -> Iterator[Iterator[tuple[str, Any]]]:
    """(type, object) of each event of a watch in protobuf."""
    with live.streaming(path, Accept=accept) as answer:
        assert answer.headers["Content-Type"] == f"{PROTOBUF};stream=watch"
        yield frames(answer)


def frames(stream: Any) -> Iterator[tuple[str, Any]]:
    while length := stream.read(4):
        parts = dict(protobuf_wire.read(stream.read(int.from_bytes(length, "big"))))
        assert set(parts) == {1, 2}
        yield parts[1].decode(), read(dict(protobuf_wire.read(parts[2]))[1])


def test_a_watch_says_what_it_says_in_json(live: Any, pod: dict[str, Any]) -> None:
    with watching(live, f"{PODS}?watch=1") as events, live.watching(f"{PODS}?watch=1") as expected:
        for _ in range(2):
            shown = next(expected)
            assert next(events) == (shown["type"], shown["object"])
            headers = {"Content-Type": "application/merge-patch+json"}
            label = {"metadata": {"labels": {"a": "c"}}}
            assert live.call("PATCH", f"{PODS}/p", label, headers=headers)[0] == 200


def test_the_objects_at_the_beginning_end_with_a_bookmark(live: Any, pod: dict[str, Any]) -> None:
    """As the reflectors of client-go ask for them."""
    query = (
        "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    )
    with watching(live, f"{PODS}?{query}") as events:
        assert next(events) == ("ADDED", pod)
        kind, mark = next(events)
    assert (kind, mark["kind"]) == ("BOOKMARK", "Pod")
    assert mark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_a_watch_of_metadata_alone(live: Any, pod: dict[str, Any]) -> None:
    query = (
        "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    )
    with watching(live, f"{PODS}?{query}", accept=f"{PARTIAL},application/json") as events:
        kind, part = next(events)
        assert (kind, part["kind"], part["metadata"]) == (
            "ADDED",
            "PartialObjectMetadata",
            pod["metadata"],
        )
        kind, mark = next(events)
    assert (kind, mark["kind"]) == ("BOOKMARK", "PartialObjectMetadata")


def test_a_watch_that_cannot_be_ends_with_an_error(live: Any, pod: dict[str, Any]) -> None:
    version = int(pod["metadata"]["resourceVersion"])
    headers = {"Content-Type": "application/merge-patch+json"}
    live.call("PATCH", f"{PODS}/p", {"metadata": {"labels": {"a": "c"}}}, headers=headers)
    live.run(lambda: live.store.compact(resources.PODS))
    with watching(live, f"{PODS}?watch=1&resourceVersion={version}") as events:
        kind, answer = next(events)
        assert (kind, answer["code"], answer["reason"]) == ("ERROR", 410, "Expired")
        assert list(events) == []


def test_the_two_names_of_an_event_have_their_own_messages(live: Any) -> None:
    event = {
        "metadata": {"name": "e", "namespace": "default"}, "eventTime": "2026-01-01T00:00:00.000001Z",
        "reportingController": "r", "reportingInstance": "s", "action": "a", "reason": "b", "type": "Normal",
        "regarding": {"kind": "Pod", "namespace": "default", "name": "p"},
    }  # fmt: skip
    new = "/apis/events.k8s.io/v1/namespaces/default/events"
    assert live.call("POST", new, event)[0] == 201
    for path in (new, "/api/v1/namespaces/default/events"):
        expected = live.call("GET", f"{path}/e")[1]
        assert in_protobuf(live, "GET", f"{path}/e") == (200, expected)
