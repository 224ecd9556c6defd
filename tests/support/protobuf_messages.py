"""Objects in Kubernetes' protobuf encoding, as clients send them and as kube-apiserver answers.

The embedded API server reads such messages, and never writes them.
"""

import base64
import datetime
import functools
import math
import struct
from collections.abc import Callable, Iterable
from typing import Any

from harness.apiserver import json_codec
from harness.apiserver.json_codec import Document
from harness.apiserver.scheme import api_types
from harness.apiserver.serializer import protobuf

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_OBJECT_META, _LIST_META = f"{_META}ObjectMeta", f"{_META}ListMeta"
_VARINT, _FIXED_64, _BYTES = 0, 1, 2
_UINT64 = 1 << 64
_DOUBLE = struct.Struct("<d")


def varint(value: int) -> bytes:
    if value < 0x80:
        return bytes((value,))
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def integer(number: int, value: int) -> bytes:
    return varint(number << 3 | _VARINT) + varint(int(value) % _UINT64)


def real(number: int, value: float) -> bytes:
    return varint(number << 3 | _FIXED_64) + _DOUBLE.pack(value)


def text(number: int, value: str) -> bytes:
    return data(number, value.encode())


def data(number: int, value: bytes) -> bytes:
    return varint(number << 3 | _BYTES) + varint(len(value)) + value


Parts = list[bytes]
Put = Callable[[Parts, Any], None]
Encode = Callable[[Any], bytes]
_VARINTS = [varint(number) for number in range(1024)]
"""The varints of small numbers, which most lengths and values are."""
"""Wire types."""


def write(kind: api_types.Type, document: Document) -> bytes:
    return _encoder(kind)(document)


@functools.cache
def _encoder(kind: api_types.Type) -> Encode:
    match kind.kind:
        case "object":
            return _object_encoder(kind)
        case "list" if kind.item is not None:  # as a map's value, a list is a message of its items
            put_items = _list_putter(kind.item, 1)
            return functools.partial(_gathered, put_items)
    return _ENCODERS[kind.kind]


def _gathered(put: Put, value: Any) -> bytes:
    parts: Parts = []
    put(parts, value)
    return b"".join(parts)


# ------------------------------------------------------------------ structures


def _object_encoder(kind: api_types.Type) -> Encode:
    compiled: list[Encode] = []

    def encode_object(document: Any) -> bytes:
        if not compiled:  # compiled on first use, because types may be recursive
            compiled.append(_message_encoder(kind, protobuf.paths(kind.name)))
        return compiled[0](document)

    return encode_object


def _message_encoder(kind: api_types.Type, paths: protobuf.Paths) -> Encode:
    """Return the encoder of the fields with these paths: a type's message, or an embedded one."""
    own, embedded = protobuf.split(paths)
    puts = {name: _putter(kind.fields[name].type, number) for name, number in own.items()}
    messages: dict[str, str] = {}
    for number, inner in embedded.items():
        puts[_embedded_name(number)] = _data_putter(number, _message_encoder(kind, inner))
        messages |= dict.fromkeys(inner, _embedded_name(number))

    def encode_message(document: Any) -> bytes:
        parts: Parts = []
        for name, value in (_nested(document, messages) if messages else document).items():
            if value is not None and (put := puts.get(name)) is not None:
                put(parts, value)
        return b"".join(parts)

    return encode_message


def _embedded_name(number: int) -> str:
    return f"#{number}"


def _nested(document: Document, messages: dict[str, str]) -> Document:
    nested: Document = {}
    for name, value in document.items():
        if (message := messages.get(name)) is None:
            nested[name] = value
        else:
            nested.setdefault(message, {})[name] = value
    return nested


def _putter(kind: api_types.Type, number: int) -> Put:
    match kind.kind:
        case "list" if kind.item is not None:
            return _list_putter(kind.item, number)
        case "map" if kind.item is not None:
            return _map_putter(kind.item, number)
    return _item_putter(kind, number)


def _item_putter(kind: api_types.Type, number: int) -> Put:
    """Return the function that writes one value, of a field or of an item of a list."""
    match kind.kind:
        case "boolean" | "integer":
            return _integer_putter(number)
        case "number":
            return lambda parts, value: parts.append(real(number, _real(value)))
    return _data_putter(number, _encoder(kind))


def _real(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer with hundreds of digits
        return math.inf if value > 0 else -math.inf


def _integer_putter(number: int) -> Put:
    tag = varint(number << 3 | _VARINT)

    def put_integer(parts: Parts, value: int) -> None:
        parts.append(tag)
        parts.append(_VARINTS[value] if 0 <= value < 1024 else varint(value % (1 << 64)))

    return put_integer


def _data_putter(number: int, encode: Encode) -> Put:
    tag = varint(number << 3 | _BYTES)

    def put_data(parts: Parts, value: Any) -> None:
        data = encode(value)
        length = len(data)
        parts.append(tag)
        parts.append(_VARINTS[length] if length < 1024 else varint(length))
        parts.append(data)

    return put_data


def _list_putter(item: api_types.Type, number: int) -> Put:
    put = _item_putter(item, number)

    def put_items(parts: Parts, values: list[Any]) -> None:
        for value in values:
            put(parts, value)

    return put_items


def _map_putter(item: api_types.Type, number: int) -> Put:
    put_key, put_value = _data_putter(1, str.encode), _item_putter(item, 2)

    def encode_entry(entry: tuple[str, Any]) -> bytes:
        parts: Parts = []
        put_key(parts, entry[0])
        put_value(parts, entry[1])
        return b"".join(parts)

    put_entry = _data_putter(number, encode_entry)

    def put_entries(parts: Parts, values: dict[str, Any]) -> None:
        for entry in values.items():
            put_entry(parts, entry)

    return put_entries


# ------------------------------------------------------------------ values


@functools.lru_cache(4096)
def _encode_time(text: str | None) -> bytes:
    if text is None:  # a null value in a map
        return b""
    moment = datetime.datetime.fromisoformat(text)
    seconds = integer(1, int(moment.replace(microsecond=0).timestamp()))
    return seconds + integer(2, moment.microsecond * 1000)


def _encode_int_or_string(value: int | str) -> bytes:
    if isinstance(value, str):
        kind = protobuf.INT_OR_STRING_IS_STRING
        return integer(1, kind) + integer(2, 0) + text(3, value)
    return integer(1, 0) + integer(2, value) + text(3, "")


def _encode_any(value: Any) -> bytes:
    return data(1, json_codec.encode(value))


_ENCODERS: dict[api_types.Kind, Encode] = {
    "string": str.encode,
    "bytes": base64.b64decode,
    "quantity": lambda value: text(1, str(value)),
    "time": _encode_time,
    "micro_time": _encode_time,
    "int_or_string": _encode_int_or_string,
    "any": _encode_any,
}


# ------------------------------------------------------------------ documents


def encode(document: Document) -> bytes:
    return enveloped(document["apiVersion"], document["kind"], _message(document))


def enveloped(api_version: str, kind: str, message: bytes) -> bytes:
    named = text(1, api_version) + text(2, kind)
    return protobuf.MAGIC + data(1, named) + data(2, message) + data(3, b"") + data(4, b"")


def list_message(meta: Document, items: Iterable[bytes]) -> bytes:
    listed = write(api_types.definition(_LIST_META), meta)
    return b"".join([data(1, listed), *(data(2, item) for item in items)])


def event_frame(type_name: str, envelope: bytes) -> bytes:
    """Return one watch event: its length in four bytes and its message, which is not enveloped.

    The object in the event is `envelope`.
    """
    event = text(1, type_name) + data(2, data(1, envelope))
    return len(event).to_bytes(4, "big") + event


def _message(document: Document) -> bytes:
    kind: str = document["kind"]
    if kind == "PartialObjectMetadata":
        return data(1, write(api_types.definition(_OBJECT_META), document["metadata"]))
    if kind == "PartialObjectMetadataList":
        return _partial_list(document)
    group, _, version = document["apiVersion"].rpartition("/")
    return write(api_types.of_kind(group, version, kind), document)


def _partial_list(document: Document) -> bytes:
    return list_message(document["metadata"], [_message(item) for item in document["items"]])
