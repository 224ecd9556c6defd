"""Bodies and answers in JSON, YAML and protobuf, and what is said of other media types."""

import json
from typing import Any

import pytest
import yaml

from harness.apiserver import negotiating, protobuf, resources, schemas

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
PROTOBUF = negotiating.PROTOBUF
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
SPECIAL = {
    "kind": "PodDisruptionBudget",
    "apiVersion": "policy/v1",
    "metadata": {"name": "p", "creationTimestamp": "2026-01-01T00:00:00Z", "generation": 3},
    "spec": {"minAvailable": "50%", "selector": {"matchLabels": {"a": "b"}}},
    "status": {"disruptionsAllowed": -1, "disruptedPods": {"x": "2026-01-01T00:00:00Z"}},
}
EXAMPLES = [
    {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": "c", "labels": {"a": "b"}, "finalizers": ["x/y", "z/w"]},
        "data": {"text": "ä\n", "empty": ""},
        "binaryData": {"b": "AAEC"},
        "immutable": False,
    },
    {
        "kind": "ResourceQuota",
        "apiVersion": "v1",
        "metadata": {"name": "q"},
        "spec": {"hard": {"cpu": "500m", "pods": "3"}},
    },
    {
        "kind": "Lease",
        "apiVersion": "coordination.k8s.io/v1",
        "metadata": {"name": "l"},
        "spec": {"leaseDurationSeconds": 0, "renewTime": "2026-01-01T00:00:00.000001Z"},
    },
    SPECIAL,
]


def enveloped(document: dict[str, Any]) -> bytes:
    group, _, version = document["apiVersion"].rpartition("/")
    kind = schemas.of_kind(group, version, document["kind"])
    return protobuf.encode(document, protobuf.encode_object(kind, document))


@pytest.mark.parametrize("document", EXAMPLES, ids=lambda document: document["kind"])
def test_a_round_trip_through_protobuf_changes_nothing(document: dict[str, Any]) -> None:
    assert protobuf.decode(enveloped(document)) == document


def test_protobuf_as_kubectl_sends_it() -> None:
    """`kubectl create namespace a`, byte for byte: what is empty is sent too."""
    meta = b"\x0a\x01a\x12\x00\x1a\x00\x22\x00\x2a\x00\x32\x00\x38\x00\x42\x00"
    message = b"\x0a" + bytes([len(meta)]) + meta + b"\x12\x00\x1a\x02\x0a\x00"
    named = b"\x0a\x02v1\x12\x09Namespace"
    body = b"k8s\x00\x0a" + bytes([len(named)]) + named + b"\x12" + bytes([len(message)]) + message
    expected = {"metadata": {"name": "a"}, "spec": {}, "status": {}}
    assert protobuf.decode(body) == {"kind": "Namespace", "apiVersion": "v1", **expected}


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"{}", "does not begin with k8s"),
        (b"k8s\x00\x0a\x7f", "no protobuf message"),
        (b"k8s\x00\x0a\x0e\x0a\x02v1\x12\x08Nonsense", "send JSON"),
        (b"k8s\x00\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x03\x7a\x01x", "field 15 of"),
    ],
)
def test_what_is_no_protobuf(refuses: Any, body: bytes, why: str) -> None:
    with refuses(400, "BadRequest", why):
        protobuf.decode(body)


def test_every_field_number_belongs_to_a_field() -> None:
    """A mistyped name in the table would be a field that cannot be sent."""
    for name, message in protobuf._messages().items():
        full = [prefix + name for prefix in protobuf.PREFIXES if prefix + name in schemas.raw()]
        assert full, name
        assert set(message.by_name) <= set(schemas.definition(full[0]).fields), name
        assert len(message.by_name) == len(message.by_number), name


def test_objects_come_and_go_in_protobuf(live: Any) -> None:
    document = EXAMPLES[0] | {"metadata": {"name": "c"}}
    headers = {"Content-Type": PROTOBUF, "Accept": f"{PROTOBUF},application/json"}
    status, made = live.call("POST", CONFIGMAPS, enveloped(document), headers=headers)
    assert status == 201
    decoded = protobuf.decode(made)
    assert decoded["data"] == document["data"]
    seen = live.call("GET", f"{CONFIGMAPS}/c")[1]
    assert seen["metadata"]["uid"] == decoded["metadata"]["uid"]
    status, listed = live.call("GET", CONFIGMAPS, headers={"Accept": PROTOBUF})
    assert status == 200
    assert listed.startswith(protobuf.MAGIC)
    assert b"ConfigMapList" in listed


def test_a_kind_without_field_numbers_is_answered_in_json(live: Any) -> None:
    assert not protobuf.knows(schemas.of(resources.PODS))
    path = "/api/v1/namespaces/default/pods"
    assert live.call("GET", path, headers={"Accept": f"{PROTOBUF},application/json"})[0] == 200
    status, body = live.call("GET", path, headers={"Accept": PROTOBUF})
    assert (status, body["reason"]) == (406, "NotAcceptable")


def test_yaml(live: Any) -> None:
    text = b"kind: ConfigMap\napiVersion: v1\nmetadata: {name: y}\ndata: {day: 2026-01-01, on: 'yes'}\n"
    headers = {"Content-Type": "application/yaml", "Accept": "application/yaml"}
    status, made = live.call("POST", CONFIGMAPS, text, headers=headers)
    assert status == 201, made
    assert yaml.safe_load(made)["metadata"]["name"] == "y"
    data = live.call("GET", f"{CONFIGMAPS}/y")[1]["data"]
    assert data == {"day": "2026-01-01", "true": "yes"}
    assert live.call("POST", CONFIGMAPS, b"a: [", headers=headers)[0] == 400


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        ("*/*", 200),
        ("", 200),
        ("application/json;q=0.5, text/html", 200),
        ("application/json; charset=utf-8", 200),
        ("text/html", 406),
        ("application/*", 406),
        ("application/json;as=Table;v=v2;g=meta.k8s.io", 406),
        ("application/json;as=Table;v=v2;g=meta.k8s.io,application/json", 200),
        (PARTIAL, 406),
    ],
)
def test_which_answers_are_accepted(live: Any, accept: str, status: int) -> None:
    assert live.call("GET", CONFIGMAPS, headers={"Accept": accept})[0] == status


@pytest.mark.parametrize(
    ("method", "media"),
    [("POST", "text/plain"), ("POST", "application/merge-patch+json"), ("PATCH", "text/plain")],
)
def test_bodies_that_are_not_understood(live: Any, method: str, media: str) -> None:
    path = CONFIGMAPS if method == "POST" else f"{CONFIGMAPS}/c"
    status, body = live.call(method, path, {}, headers={"Content-Type": media})
    assert (status, body["reason"]) == (415, "UnsupportedMediaType")


def test_tables_and_metadata_of_what_was_written(live: Any) -> None:
    new = {"metadata": {"name": "a"}, "data": {"x": "1", "y": "2"}}
    _, table = live.call("POST", CONFIGMAPS, new, headers={"Accept": TABLE})
    assert (table["kind"], table["rows"][0]["cells"][:2]) == ("Table", ["a", 2])
    _, part = live.call("GET", f"{CONFIGMAPS}/a", headers={"Accept": PARTIAL})
    assert (part["kind"], set(part)) == (
        "PartialObjectMetadata",
        {"kind", "apiVersion", "metadata"},
    )
    wide = f"{CONFIGMAPS}/a?includeObject=Object"
    _, table = live.call("GET", wide, headers={"Accept": TABLE})
    assert table["rows"][0]["object"]["data"] == new["data"]
    _, pretty = live.call("GET", f"{CONFIGMAPS}/a?pretty=true", headers={"Accept": "*/*"})
    assert pretty == json.loads(json.dumps(pretty))
