"""Objects in Kubernetes' protobuf encoding, as clients send them and as kube-apiserver answers.

The embedded API server reads such messages, and never writes them.
"""

import base64
import datetime
import struct
from collections.abc import Callable, Mapping
from typing import Any

from harness.apiserver import json_codec
from harness.apiserver.json_codec import Document
from harness.apiserver.scheme import api_types
from harness.apiserver.serializer import protobuf

_VARINT, _FIXED_64, _BYTES = 0, 1, 2


def varint(value: int) -> bytes:
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def integer(number: int, value: int) -> bytes:
    return varint(number << 3 | _VARINT) + varint(int(value) % (1 << 64))


def text(number: int, value: str) -> bytes:
    return data(number, value.encode())


def data(number: int, value: bytes) -> bytes:
    return varint(number << 3 | _BYTES) + varint(len(value)) + value


# ------------------------------------------------------------------ messages


def write(kind: api_types.Type, document: Document) -> bytes:
    return _message(kind, protobuf.paths(kind.name), document)


def _message(kind: api_types.Type, paths: protobuf.Paths, document: Document) -> bytes:
    """Write the fields with these paths: a type's message, or one that is embedded in it."""
    own, embedded = protobuf.split(paths)
    known = {name: value for name, value in document.items() if value is not None}
    made = [_field(own[name], kind.fields[name].type, known[name]) for name in known if name in own]
    for number, inner in embedded.items():
        if part := {name: known[name] for name in known if name in inner}:
            made.append(data(number, _message(kind, inner, part)))
    return b"".join(made)


def _field(number: int, kind: api_types.Type, value: Any) -> bytes:
    match kind.kind:
        case "list" if kind.item is not None:
            return b"".join(_item(number, kind.item, item) for item in value)
        case "map" if kind.item is not None:
            entries = [text(1, key) + _item(2, kind.item, item) for key, item in value.items()]
            return b"".join(data(number, entry) for entry in entries)
    return _item(number, kind, value)


def _item(number: int, kind: api_types.Type, value: Any) -> bytes:
    """Write one value, of a field or of an item of a list."""
    match kind.kind:
        case "boolean" | "integer":
            return integer(number, value)
        case "number":
            return varint(number << 3 | _FIXED_64) + struct.pack("<d", value)
        case "object":
            return data(number, write(kind, value))
        case "list":  # as a map's value, a list is a message of its items
            return data(number, _field(1, kind, value))
    return data(number, _ENCODERS[kind.kind](value))


def _encode_time(value: str | None) -> bytes:
    if value is None:  # a null value in a map
        return b""
    moment = datetime.datetime.fromisoformat(value)
    seconds = integer(1, int(moment.replace(microsecond=0).timestamp()))
    return seconds + integer(2, moment.microsecond * 1000)


def _encode_int_or_string(value: int | str) -> bytes:
    if isinstance(value, str):
        return integer(1, protobuf.INT_OR_STRING_IS_STRING) + integer(2, 0) + text(3, value)
    return integer(1, 0) + integer(2, value) + text(3, "")


_ENCODERS: Mapping[api_types.Kind, Callable[[Any], bytes]] = {
    "string": str.encode,
    "bytes": base64.b64decode,
    "quantity": lambda value: text(1, str(value)),
    "time": _encode_time,
    "micro_time": _encode_time,
    "int_or_string": _encode_int_or_string,
    "any": lambda value: data(1, json_codec.encode(value)),
}


# ------------------------------------------------------------------ documents


def encode(document: Document) -> bytes:
    group, _, version = document["apiVersion"].rpartition("/")
    message = write(api_types.of_kind(group, version, document["kind"]), document)
    named = text(1, document["apiVersion"]) + text(2, document["kind"])
    return protobuf.MAGIC + data(1, named) + data(2, message) + data(3, b"") + data(4, b"")


def event_frame(type_name: str, envelope: bytes) -> bytes:
    """Return one watch event: its length in four bytes and its message, which is not enveloped.

    The object in the event is `envelope`.
    """
    event = text(1, type_name) + data(2, data(1, envelope))
    return len(event).to_bytes(4, "big") + event
