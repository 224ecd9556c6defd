"""Recorded bytes of real drivers, and of a client with upstream's own messages.

Each line of `conversations.jsonl` is one message or one refusal: `program` and `version` of the
driver, `from` ("kubelet" is a client that encodes with upstream's Go messages), `method`,
`direction`, then `message` (full name), `bytes` (base64) and `decoded` (what upstream's
messages make of them, with the names of their fields), or `code` and `error` of a refusal.
"""

import base64
import json
import pathlib
from typing import Any

import pytest
from google.protobuf import json_format

from harness.cluster.kubelet_api import services

RECORDS: list[dict[str, Any]] = [
    json.loads(line)
    for line in pathlib.Path(__file__).with_name("conversations.jsonl").read_text().splitlines()
]
METHODS = {
    method.path: method
    for method in (
        *(method for dra in services.DRA.values() for method in (dra.prepare, dra.unprepare)),
        services.GET_INFO,
        services.NOTIFY,
    )
}
MESSAGES = [record for record in RECORDS if "bytes" in record]


def message_type(record: dict[str, Any]) -> Any:
    method = METHODS[record["method"]]
    return method.request if record["direction"] == "request" else method.answer


def wire(record: dict[str, Any]) -> bytes:
    return base64.b64decode(record["bytes"])


def entries(message: Any) -> list[bytes]:
    """Return the bytes of a message in parts: those of a map may come in any order."""
    claims = message.DESCRIPTOR.fields_by_name.get("claims")
    if claims is None or not claims.message_type.GetOptions().map_entry:
        return [message.SerializeToString()]
    return [
        type(message)(claims={uid: entry}).SerializeToString()
        for uid, entry in message.claims.items()
    ]


def said(message: Any) -> set[str]:
    """Return the full names of the fields that a message and those in it fill."""
    names = set()
    for field, value in message.ListFields():
        names.add(field.full_name)
        if field.message_type is None:
            continue
        if field.message_type.GetOptions().map_entry:
            value = value.values()
        for inner in value if field.is_repeated else [value]:
            names |= said(inner)
    return names


@pytest.mark.parametrize("record", MESSAGES)
def test_our_messages_say_the_same(record: dict[str, Any]) -> None:
    message = message_type(record).FromString(wire(record))
    assert message.DESCRIPTOR.full_name == record["message"].replace("v1beta1", "v1")
    assert json_format.MessageToDict(message, preserving_proto_field_name=True) == record["decoded"]


@pytest.mark.parametrize("record", MESSAGES)
def test_our_bytes_are_the_same(record: dict[str, Any]) -> None:
    message = json_format.ParseDict(record["decoded"], message_type(record)())
    parts = entries(message)
    assert sum(map(len, parts)) == len(wire(record))
    assert all(part in wire(record) for part in parts)


def test_each_method_and_field_was_recorded() -> None:
    assert {(record["method"], record["direction"]) for record in MESSAGES} == {
        (path, direction) for path in METHODS for direction in ("request", "response")
    }
    found: set[str] = set()
    known: set[str] = set()
    for record in MESSAGES:
        message = message_type(record).FromString(wire(record))
        found |= said(message)
        file = message.DESCRIPTOR.file
        known |= {
            field.full_name for kind in file.message_types_by_name.values() for field in kind.fields
        }
    assert known == found
