"""Kubernetes' protobuf encoding of objects: the envelope, and the messages in it, to and from JSON documents.

A message is decoded by the types of `schemas` and the numbers of `protobuf_fields`. A field that the tables do not know is refused and
never dropped: whoever sent it would believe that it was stored.
"""

import base64
import datetime
import functools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec

from harness.apiserver import protobuf_fields, schemas, statuses, storing

Document = dict[str, Any]
MAGIC = b"k8s\x00"
_VARINT, _BYTES = 0, 2
PREFIXES = ("io.k8s.api.", "io.k8s.apimachinery.pkg.apis.")
_INT_OR_STRING_IS_STRING = 1
_UINT64 = 1 << 64
_NUMBERS = ("boolean", "integer")
_Raw = TypeVar("_Raw")


class _Message(NamedTuple):
    by_number: Mapping[int, str]
    by_name: Mapping[str, int]


def decode(data: bytes) -> Document:
    """The object in an envelope, with its kind and version; 400 for anything else."""
    try:
        api_version, kind, raw = _open(data)
        group, _, version = api_version.rpartition("/")
        document = _decode(schemas.of_kind(group, version, kind), raw)
    except (IndexError, ValueError, msgspec.DecodeError) as error:
        raise statuses.bad_request(f"the body is no protobuf message: {error}") from error
    except KeyError as error:
        raise statuses.bad_request(
            f"{error.args[0]} is not known to this server's protobuf tables: send JSON"
        ) from error
    return {"kind": kind, "apiVersion": api_version, **document}


def encode(document: Document, raw: bytes) -> bytes:
    """An envelope around a message."""
    named = _string(1, document["apiVersion"]) + _string(2, document["kind"])
    return MAGIC + _bytes(1, named) + _bytes(2, raw) + _bytes(3, b"") + _bytes(4, b"")


def encode_object(kind: schemas.Type, document: Document) -> bytes:
    """The message of an object whose fields are all known."""
    return b"".join(_encode_fields(kind, document))


def encode_list(kind: schemas.Type, document: Document) -> bytes:
    """The message of a list of such objects."""
    meta = schemas.definition("io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta")
    items = [_bytes(2, encode_object(kind, item)) for item in document["items"]]
    return _bytes(1, encode_object(meta, document["metadata"])) + b"".join(items)


@functools.cache
def knows(kind: schemas.Type) -> bool:
    """Whether every field of a type, and of the types in it, has a number here."""
    return _knows(kind, set())


# ------------------------------------------------------------------ tables


@functools.cache
def _messages() -> Mapping[str, _Message]:
    found = {}
    for line in filter(None, map(str.split, protobuf_fields.FIELDS.splitlines())):
        numbers = {name: int(number) for name, number in (text.split("=") for text in line[1:])}
        found[line[0]] = _Message({number: name for name, number in numbers.items()}, numbers)
    return found


def _message(kind: schemas.Type) -> _Message | None:
    for prefix in PREFIXES:
        if kind.name.startswith(prefix):
            return _messages().get(kind.name.removeprefix(prefix))
    return None


def _knows(kind: schemas.Type, seen: set[str]) -> bool:
    if kind.item is not None:
        return _knows(kind.item, seen)
    if kind.kind != "object" or kind.name in seen:
        return kind.kind != "number"
    seen.add(kind.name)
    message = _message(kind)
    names = [name for name in kind.fields if name not in ("kind", "apiVersion")]
    if message is None:
        return not names
    return all(name in message.by_name and _knows(kind.fields[name].type, seen) for name in names)


# ------------------------------------------------------------------ decoding


def _open(data: bytes) -> tuple[str, str, bytes]:
    if not data.startswith(MAGIC):
        raise statuses.bad_request("the body is no object in protobuf: it does not begin with k8s")
    parts = dict(read(data[len(MAGIC) :]))
    named = dict(read(_part(parts, 1, b"")))
    return _part(named, 1, b"").decode(), _part(named, 2, b"").decode(), _part(parts, 2, b"")


def _part(parts: Mapping[int, Any], number: int, default: _Raw) -> _Raw:
    """One field of a message, of the type that its default has."""
    return _checked(parts.get(number, default), type(default))


def _checked(raw: Any, expected: type[_Raw]) -> _Raw:
    if not isinstance(raw, expected):
        raise IndexError(f"expected {expected.__name__} but got {type(raw).__name__}")
    return raw


def read(data: bytes) -> Iterator[tuple[int, Any]]:
    """(number, value) of each field: an integer, or bytes."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        match key & 7:
            case 0:
                value, at = _varint(data, at)
                yield key >> 3, value
            case 2:
                length, at = _varint(data, at)
                if at + length > len(data):
                    raise IndexError("it ends early")
                yield key >> 3, data[at : at + length]
                at += length
            case other:
                raise IndexError(f"wire type {other} is not used by Kubernetes")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _decode(kind: schemas.Type, data: bytes) -> Document:
    message = _message(kind)
    document: Document = {}
    for number, value in read(data):
        if message is None or number not in message.by_number:
            raise KeyError(f"field {number} of {kind.name or kind.kind}")
        _put(document, kind.field(message.by_number[number]), value)
    return document


def _put(document: Document, field: schemas.Field, raw: Any) -> None:
    """Add what was read; a zero says something only where Go tells it from what nobody set: of pointers."""
    kind = field.type
    if kind.kind == "list" and kind.item is not None:
        document.setdefault(field.name, []).append(_value(kind.item, raw))
    elif kind.kind == "map" and kind.item is not None:
        entry = dict(read(_checked(raw, bytes)))
        value = _value(kind.item, entry.get(2, b""))
        document.setdefault(field.name, {})[_part(entry, 1, b"").decode()] = value
    else:
        value = _value(kind, raw)
        if value is not None and (field.pointer or value not in ("", 0)):
            document[field.name] = value


def _value(kind: schemas.Type, raw: Any) -> Any:
    _checked(raw, int if kind.kind in _NUMBERS else bytes)
    match kind.kind:
        case "object":
            return _decode(kind, raw)
        case "string":
            return raw.decode()
        case "boolean":
            return bool(raw)
        case "integer":
            return _signed(raw)
        case "bytes":
            return base64.b64encode(raw).decode()
        case "list" if kind.item is not None:  # of a map: a message with the items
            return [_value(kind.item, value) for _, value in read(raw)]
    return _special(kind.kind, dict(read(raw)))


def _special(kind: str, parts: dict[int, Any]) -> Any:
    """A value with a message of its own."""
    match kind:
        case "quantity":
            return _part(parts, 1, b"").decode()
        case "time" | "micro_time":
            return _time(kind, _signed(_part(parts, 1, 0)), _part(parts, 2, 0))
        case "int_or_string":
            is_string = _part(parts, 1, 0) == _INT_OR_STRING_IS_STRING
            return _part(parts, 3, b"").decode() if is_string else _signed(_part(parts, 2, 0))
        case "any":
            return storing.decode(_part(parts, 1, b"null"))
    raise KeyError(f"a value of type {kind}")


def _signed(raw: int) -> int:
    return raw - _UINT64 if raw >> 63 else raw


def _time(kind: str, seconds: int, nanoseconds: int) -> str | None:
    """None for the zero that Go writes where no time is set."""
    if not seconds:
        return None
    try:
        moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
        moment = moment.replace(microsecond=nanoseconds // 1000)
    except (OverflowError, OSError) as error:
        raise ValueError(f"{seconds} s and {nanoseconds} ns are no time") from error
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ" if kind == "time" else "%Y-%m-%dT%H:%M:%S.%fZ")


# ------------------------------------------------------------------ encoding


def _encode_fields(kind: schemas.Type, document: Document) -> Iterator[bytes]:
    message = _message(kind)
    for name, value in document.items():
        if name in ("kind", "apiVersion") and (message is None or name not in message.by_name):
            continue
        if message is None or name not in message.by_name:
            raise KeyError(f"field {name} of {kind.name}")
        if value is not None:
            yield from _encode_field(message.by_name[name], kind.field(name).type, value)


def _encode_field(number: int, kind: schemas.Type, value: Any) -> Iterator[bytes]:
    if kind.kind == "list" and kind.item is not None:
        for item in value:
            yield _encode_value(number, kind.item, item)
    elif kind.kind == "map" and kind.item is not None:
        for key, item in value.items():
            yield _bytes(number, _string(1, key) + _encode_value(2, kind.item, item))
    else:
        yield _encode_value(number, kind, value)


def _encode_value(number: int, kind: schemas.Type, value: Any) -> bytes:
    match kind.kind:
        case "object":
            return _bytes(number, encode_object(kind, value))
        case "string":
            return _string(number, value)
        case "boolean" | "integer":
            return _varint_bytes(number << 3 | _VARINT) + _varint_bytes(int(value) % _UINT64)
        case "bytes":
            return _bytes(number, base64.b64decode(value))
        case "quantity":
            return _bytes(number, _string(1, str(value)))
        case "time" | "micro_time":
            return _bytes(number, _encode_time(value))
        case "int_or_string":
            return _bytes(number, _encode_int_or_string(value))
        case "list" if kind.item is not None:
            return _bytes(number, b"".join(_encode_value(1, kind.item, item) for item in value))
        case "any":
            return _bytes(number, _bytes(1, storing.encode(value)))
    raise KeyError(f"a value of type {kind.kind}")


def _encode_time(text: str) -> bytes:
    moment = datetime.datetime.fromisoformat(text)
    seconds = int(moment.timestamp())
    parts = _varint_bytes(1 << 3) + _varint_bytes(seconds % _UINT64)
    if moment.microsecond:
        parts += _varint_bytes(2 << 3) + _varint_bytes(moment.microsecond * 1000)
    return parts


def _encode_int_or_string(value: int | str) -> bytes:
    if isinstance(value, str):
        kind = _varint_bytes(_INT_OR_STRING_IS_STRING)
        return _varint_bytes(1 << 3) + kind + _string(3, value)
    return (
        _varint_bytes(1 << 3)
        + _varint_bytes(0)
        + _varint_bytes(2 << 3)
        + _varint_bytes(value % _UINT64)
    )


def _string(number: int, text: str) -> bytes:
    return _bytes(number, text.encode())


def _bytes(number: int, data: bytes) -> bytes:
    return _varint_bytes(number << 3 | _BYTES) + _varint_bytes(len(data)) + data


def _varint_bytes(value: int) -> bytes:
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)
