"""Messages as Kubernetes writes them, messages made by hand, and bytes that are no message.

`roundtrip.jsonl.gz` has the files testdata/HEAD of k8s.io/api 0.36.4 for the kinds that the server
knows: every field of every kind set, as JSON and as protobuf. Copyright The Kubernetes Authors,
Apache License 2.0.
"""

import base64
import gzip
import json
import pathlib
from typing import Any

import pytest

from harness import protobuf_wire
from harness.apiserver.scheme import api_types, resources
from harness.apiserver.serializer import decoding, protobuf
from tests.support import protobuf_messages

SCHEMA = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
LINES = gzip.decompress(pathlib.Path(__file__).with_name("roundtrip.jsonl.gz").read_bytes())
PAIRS = [
    (pair["object"], base64.b64decode(pair["message"]))
    for pair in map(json.loads, LINES.splitlines())
]
NAMES = [f"{document['apiVersion']}.{document['kind']}" for document, _ in PAIRS]
Fields = list[tuple[int, Any]]


def typed(document: dict[str, Any]) -> api_types.Type:
    group, _, version = document["apiVersion"].rpartition("/")
    return api_types.of_kind(group, version, document["kind"])


def test_go_writes_what_is_read() -> None:
    for document, message in PAIRS:
        found = protobuf.document(message)
        named = {"kind": found["kind"], "apiVersion": found["apiVersion"]}
        assert decoding.read(typed(document), found) | named == document


def test_tests_write_what_go_writes() -> None:
    """Byte for byte, but for the order of fields, of which protobuf does not care."""
    for document, message in PAIRS:
        assert sorted(protobuf_messages.encode(document)) == sorted(message), document["kind"]


# ------------------------------------------------------------------ made by hand


def varint(value: int) -> bytes:
    value %= 1 << 64
    low = [value >> 7 * at & 0x7F for at in range(max(1, -(-value.bit_length() // 7)))]
    return bytes([part | 0x80 for part in low[:-1]] + low[-1:])


def message(fields: Fields) -> bytes:
    """Fields by the encoding's own rules: (number, an integer, a text, bytes, or the fields of a
    message).
    """
    made = b""
    for number, value in fields:
        if isinstance(value, int):
            made += varint(number << 3) + varint(value)
        else:
            data = message(value) if isinstance(value, list) else value
            data = data.encode() if isinstance(data, str) else data
            made += varint(number << 3 | 2) + varint(len(data)) + data
    return made


def decoded(api_version: str, kind: str, fields: Fields) -> dict[str, Any]:
    """Read k8s.io.apimachinery.pkg.runtime.Unknown: typeMeta, raw, contentEncoding, contentType."""
    named = [(1, api_version), (2, kind)]
    return protobuf.document(b"k8s\0" + message([(1, named), (2, fields), (3, ""), (4, "")]))


def pod(spec: Fields) -> dict[str, Any]:
    found: dict[str, Any] = decoded("v1", "Pod", [(2, spec)])["spec"]
    return found


def test_zeros_are_kept_only_where_go_has_pointers() -> None:
    spec: Fields = [(1, 3), (5, 0), (7, 0), (4, [(1, "")])]
    found = decoded("apps/v1", "Deployment", [(1, [(1, "x"), (2, ""), (7, 0), (8, "")]), (2, spec)])
    assert found["metadata"] == {"name": "x"}
    assert found["spec"] == {"replicas": 3, "strategy": {}}
    schema = api_types.definition(SCHEMA)
    document = {"type": "object", "minProperties": 0, "maximum": 0.0, "x-kubernetes-map-type": ""}
    assert protobuf.read(schema, protobuf_messages.write(schema, document)) == document


def test_fields_that_are_not_known_are_skipped() -> None:
    unknown = message([(900, 7), (901, "text"), (902, [(1, 1)])])
    fixed = varint(903 << 3 | 1) + b"8 bytes." + varint(904 << 3 | 5) + b"four"
    body = message([(10, "n")]) + unknown + fixed + message([(19, "s")])
    found = protobuf.read(api_types.of(resources.PODS).fields["spec"].type, body)
    assert found == {"nodeName": "n", "schedulerName": "s"}


def test_the_last_value_of_a_field_counts_and_messages_are_merged() -> None:
    assert pod([(10, "a"), (10, "b"), (14, [(2, 1)]), (14, [(3, 1)])]) == {
        "nodeName": "b",
        "securityContext": {"runAsUser": 1, "runAsNonRoot": True},
    }
    assert pod([(10, "a"), (10, "")]) == {}


def test_numbers_may_be_packed_and_are_cut_to_32_bits() -> None:
    groups = varint(1) + varint(300) + varint(-1)
    found = pod([(14, [(4, 7), (4, groups)])])
    assert found["securityContext"] == {"supplementalGroups": [7, 1, 300, -1]}
    assert pod([(25, (1 << 40) + 5)]) == {"priority": 5}
    assert pod([(25, (1 << 32) - 1)]) == {"priority": -1}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"k8s\0\x0a\x7f",
        b"k8s\0\x0a",
        b"k8s\0\x0f",
        b"k8s\0\x00\x00",
        b"k8s\0\x0c",
        b"k8s\0\x08" + b"\xff" * 11,
        b"k8s\0\x0a" + b"\xff" * 9 + b"\x01",
    ],
)
def test_envelopes_that_are_refused(body: bytes) -> None:
    with pytest.raises(protobuf_wire.MalformedError):
        protobuf.document(body)


@pytest.mark.parametrize(
    "fields",
    [
        [(1, 1)],
        [(1, [(1, 1)])],
        [(1, [(8, [(1, "x")])])],
        [(1, [(8, [(1, 1 << 62)])])],
        [(1, [(11, 1)])],
        [(1, [(11, [(1, 1)])])],
        [(1, [(17, [(7, [(1, "{")])])])],
        [(2, [(1, "x")])],
    ],
    ids=str,
)
def test_values_of_another_type_are_refused(fields: Fields) -> None:
    with pytest.raises(protobuf_wire.MalformedError):
        decoded("apps/v1", "Deployment", fields)


def is_read(kind: api_types.Type, body: bytes) -> bool:
    try:
        protobuf.read(kind, body)
    except protobuf_wire.MalformedError:
        return False
    return True


def test_a_byte_that_changes_is_no_failure_of_the_server() -> None:
    """The result is an object or an error, for every changed byte and every cut."""
    results = set()
    (document,) = [document for document, _ in PAIRS if document["kind"] == "ResourceClaim"][:1]
    kind = typed(document)
    body = protobuf_messages.write(kind, document)
    for at in range(len(body)):
        results.add(is_read(kind, body[:at]))
        for byte in (0x00, 0x7F, 0x80, 0xFF, body[at] ^ 1):
            results.add(is_read(kind, body[:at] + bytes([byte]) + body[at + 1 :]))
    assert results == {True, False}


def test_depth_is_bounded() -> None:
    """Schemas of custom resources contain schemas."""
    body = b""
    for _ in range(3_000):
        body = message([(28, body)])  # not
    assert not is_read(api_types.definition(SCHEMA), body)
