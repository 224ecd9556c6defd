"""Messages made by hand, and bytes that are no message."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.apiserver.codec import json_codec, protobuf_wire
from harness.apiserver.scheme import api_types, resources
from harness.apiserver.serializer import decoding, protobuf
from tests.support import cases, protobuf_messages

SCHEMA = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"

Fields = list[tuple[int, Any]]


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


def enveloped(api_version: str, kind: str, fields: Fields) -> bytes:
    """k8s.io.apimachinery.pkg.runtime.Unknown: typeMeta, raw, contentEncoding, contentType."""
    return b"k8s\0" + message([(1, [(1, api_version), (2, kind)]), (2, fields), (3, ""), (4, "")])


YEAR_2026 = 1_767_225_600
NAMED: Fields = [(1, "x")]
DEPLOYMENT: Fields = [
    (1, [(1, "x"), (2, "x-"), (3, "n"), (5, "u"), (6, "7"), (7, 2), (8, [(1, YEAR_2026)])]),
    (2, [
        (1, 0),
        (2, [(1, [(1, "a"), (2, "b")]), (2, [(1, "k"), (2, "In"), (3, "v"), (3, "w")])]),
        (3, [(1, [(11, [(1, "a"), (2, "b")])]), (2, [
            (2, [(1, "c"), (2, "i"), (3, "sh"), (6, [(3, 80), (4, "TCP")]), (7, [(1, "E"), (2, "1")])]),
            (3, "Always"), (4, 0), (19, "s"),
            (22, [(1, "t"), (2, "Exists"), (4, "NoExecute"), (5, 0)]),
        ])]),
        (4, [(1, "RollingUpdate"), (2, [(1, [(1, 1), (3, "25%")]), (2, [(1, 0), (2, 0)])])]),
        (7, 1), (9, 600),
    ]),
]  # fmt: skip
MESSAGES: dict[tuple[str, str], Fields] = {
    ("apps/v1", "Deployment"): DEPLOYMENT,
    ("v1", "Secret"): [(1, NAMED), (2, [(1, "k"), (2, b"\0\xff")]), (3, "Opaque"), (5, 0)],
    ("v1", "ConfigMap"): [
        (1, [
            (13, [(1, "ReplicaSet"), (3, "r"), (4, "u"), (5, "apps/v1"), (6, 0), (7, 1)]), (14, "f/g"),
            (17, [(1, "m"), (2, "Apply"), (3, "v1"), (4, [(1, YEAR_2026)]), (6, "FieldsV1"), (7, [(1, '{"f:data":{}}')])]),
        ]),
        (2, [(1, "k"), (2, "")]),
    ],
    ("v1", "ResourceQuota"): [(2, [(1, [(1, "cpu"), (2, [(1, "500m")])]), (2, "Terminating")])],
    ("v1", "Service"): [(2, [(1, [(1, "p"), (2, "TCP"), (3, 80), (4, [(1, 1), (3, "web")])]), (2, [(1, "a"), (2, "b")]), (3, "None"), (4, "ClusterIP"), (7, "ClientIP")])],
    ("v1", "Binding"): [(1, NAMED), (2, [(1, "Node"), (3, "worker-0")])],
    ("policy/v1", "Eviction"): [(1, NAMED), (2, [(1, 0), (2, [(1, "u"), (2, "7")]), (4, "Orphan"), (5, "All")])],
    ("policy/v1", "PodDisruptionBudget"): [(2, [(1, [(1, 0), (2, 0)]), (3, [(1, 0), (2, -1)])]), (3, [(2, [(1, "p"), (2, [(1, YEAR_2026)])]), (3, -1)])],
    ("coordination.k8s.io/v1", "Lease"): [(2, [(1, ""), (2, 15), (4, [(1, YEAR_2026), (2, 1000)]), (5, 0)])],
    ("authentication.k8s.io/v1", "SelfSubjectReview"): [(2, [(1, [(1, "me"), (3, "g"), (4, [(1, "k"), (2, [(1, "a"), (1, "b")])])])])],
    ("authentication.k8s.io/v1", "TokenRequest"): [(2, [(1, "a"), (3, [(1, "Pod"), (2, "v1"), (3, "p"), (4, "u")]), (4, 600)])],
    ("batch/v1", "CronJob"): [(2, [(1, "* * * * *"), (3, "Forbid"), (4, 0), (5, [(2, [(1, 1), (7, 0), (9, "Indexed")])]), (8, "UTC")])],
}  # fmt: skip


@pytest.mark.parametrize("named", MESSAGES, ids=lambda named: str(named[1]))
def test_messages_made_by_hand(named: tuple[str, str]) -> None:
    expected = cases.read(__file__, "objects")[named[1]]
    assert decoded(enveloped(*named, MESSAGES[named])) == expected


def decoded(body: bytes) -> dict[str, Any]:
    envelope = protobuf.open_envelope(body)
    group, _, version = envelope.api_version.rpartition("/")
    return protobuf.read(api_types.of_kind(group, version, envelope.kind), envelope.message)


def test_zeros_that_mean_nothing_are_not_taken_over() -> None:
    """Go writes every field that is no pointer, set or not."""
    spec: Fields = [(1, 3), (5, 0), (7, 0), (4, [(1, "")])]
    found = decoded(
        enveloped("apps/v1", "Deployment", [(1, [(1, "x"), (2, ""), (7, 0), (8, "")]), (2, spec)])
    )
    assert found["metadata"] == {"name": "x"}
    assert found["spec"] == {"replicas": 3, "strategy": {}}


def pod(spec: Fields) -> dict[str, Any]:
    return decoded(enveloped("v1", "Pod", [(2, spec)]))["spec"]


def test_fields_that_are_not_known_are_passed_over() -> None:
    unknown = message([(900, 7), (901, "text"), (902, [(1, 1)])])
    fixed = varint(903 << 3 | 1) + b"8 bytes." + varint(904 << 3 | 5) + b"four"
    group = (
        varint(905 << 3 | 3)
        + varint(1 << 3)
        + b"\1"
        + varint(2 << 3 | 3)
        + varint(2 << 3 | 4)
        + varint(905 << 3 | 4)
    )
    body = message([(10, "n")]) + unknown + fixed + group + message([(19, "s")])
    assert protobuf.read(api_types.of(resources.PODS).field("spec").type, body) == {
        "nodeName": "n",
        "schedulerName": "s",
    }


def test_the_last_value_of_a_field_counts_and_messages_are_merged() -> None:
    assert pod([(10, "a"), (10, "b"), (14, [(2, 1)]), (14, [(3, 1)])]) == {
        "nodeName": "b",
        "securityContext": {"runAsUser": 1, "runAsNonRoot": True},
    }
    assert pod([(10, "a"), (10, "")]) == {}


def test_numbers_of_a_list_may_be_packed() -> None:
    groups = varint(1) + varint(300) + varint(-1)
    assert pod([(14, [(4, 7), (4, groups)])]) == {
        "securityContext": {"supplementalGroups": [7, 1, 300, -1]}
    }


def test_numbers_of_32_bits_are_cut_as_go_cuts_them() -> None:
    assert pod([(25, (1 << 40) + 5)]) == {"priority": 5}
    assert pod([(25, (1 << 32) - 1)]) == {"priority": -1}


def test_text_that_is_no_utf_8_gets_replacement_characters() -> None:
    assert pod([(10, b"a\xff")]) == {"nodeName": "a\ufffd"}


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "empty data"),
        (
            b"{}",
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
        ),
        (b"k8s\0", "empty body"),
        (b"k8s\0\x0a\x7f", "unexpected EOF"),
        (b"k8s\0\x0a", "unexpected EOF"),
        (b"k8s\0\x0f", "proto: illegal wireType 7"),
        (b"k8s\0\x00\x00", "proto: Unknown: illegal tag 0 (wire type 0)"),
        (b"k8s\0\x0c", "proto: Unknown: wiretype end group for non-group"),
        (b"k8s\0\x08" + b"\xff" * 11, "proto: integer overflow"),
        (b"k8s\0\x0a" + b"\xff" * 9 + b"\x01", "proto: negative length found during unmarshaling"),
    ],
)
def test_envelopes_that_are_refused(body: bytes, why: str) -> None:
    with pytest.raises(protobuf_wire.MalformedError) as caught:
        protobuf.open_envelope(body)
    assert str(caught.value) == why


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ([(1, 1)], "proto: wrong wireType = 0 for field ObjectMeta"),
        ([(1, [(1, 1)])], "proto: wrong wireType = 0 for field Name"),
        ([(1, [(8, [(1, "x")])])], "wrong wireType = 2"),
        ([(1, [(8, [(1, 1 << 62)])])], "outside of the years 1 to 9999"),
        ([(1, [(11, 1)])], "wrong wireType = 0 for field Labels"),
        ([(1, [(11, [(1, 1)])])], "wrong wireType = 0"),
        ([(1, [(17, [(7, [(1, "{")])])])], "json"),
        ([(2, [(1, "x")])], "wrong wireType = 2 for field Replicas"),
    ],
    ids=str,
)
def test_values_of_another_type_are_refused(fields: Fields, why: str) -> None:
    with pytest.raises(protobuf_wire.MalformedError, match=why):
        decoded(enveloped("apps/v1", "Deployment", fields))


def refusal_or_none(kind: api_types.Type, body: bytes) -> str:
    try:
        protobuf.read(kind, body)
    except protobuf_wire.MalformedError as error:
        return str(error)
    return ""


def test_a_byte_that_changes_is_no_failure_of_the_server() -> None:
    """The result is an object or an error, for every changed byte and every cut."""
    refused = set()
    for (api_version, name), fields in MESSAGES.items():
        group, _, version = api_version.rpartition("/")
        kind, body = api_types.of_kind(group, version, name), message(fields)
        for at in range(len(body)):
            refused.add(refusal_or_none(kind, body[:at]))
            for byte in (0x00, 0x7F, 0x80, 0xFF, body[at] ^ 1):
                refused.add(refusal_or_none(kind, body[:at] + bytes([byte]) + body[at + 1 :]))
    assert {"", "unexpected EOF"} < refused


SEEDS = [
    (api_types.of_kind(*named[0].rpartition("/")[::2], named[1]), message(fields))
    for named, fields in MESSAGES.items()
]


@st.composite
def torn_messages(draw: st.DrawFn) -> tuple[api_types.Type, bytes]:
    """A message into which bytes of others, or any, are put somewhere, in place of some of its
    own.
    """
    kind, body = draw(st.sampled_from(SEEDS))
    start = draw(st.integers(0, len(body)))
    end = draw(st.integers(start, len(body)))
    _, other = draw(st.sampled_from(SEEDS))
    put = draw(st.one_of(st.binary(max_size=20), st.just(other), st.just(other[: len(other) // 2])))
    return kind, body[:start] + put + body[end:]


@settings(max_examples=300, deadline=None)
@given(torn=torn_messages())
def test_whatever_is_read_can_be_written_and_read_again(torn: tuple[api_types.Type, bytes]) -> None:
    """Bytes are refused, or they are an object that has a form in JSON, and a message of its own
    that says the same.
    """
    kind, body = torn
    try:
        found = json_codec.decode(json_codec.encode(protobuf.read(kind, body)))
        stored = decoding.read(kind, found, decoding.Tally())
    except (protobuf_wire.MalformedError, decoding.MismatchError):  # such as no quantity
        return
    again = protobuf.read(kind, protobuf_messages.write(kind, stored))
    assert decoding.read(kind, again, decoding.Tally()) == stored


def test_depth_is_bounded() -> None:
    """Schemas of custom resources contain schemas."""
    body = b""
    for _ in range(3_000):
        body = message([(28, body)])  # not
    assert refusal_or_none(api_types.definition(SCHEMA), body) == "exceeded max depth"
