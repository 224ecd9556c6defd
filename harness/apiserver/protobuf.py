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

from harness.apiserver import protobuf_fields, schemas, statuses, storing, wire

Document = dict[str, Any]
MAGIC = b"k8s\x00"
PREFIXES = ("io.k8s.api.", "io.k8s.apimachinery.pkg.apis.")
_INT_OR_STRING_IS_STRING = 1
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
    named = wire.text(1, document["apiVersion"]) + wire.text(2, document["kind"])
    return MAGIC + wire.data(1, named) + wire.data(2, raw) + wire.data(3, b"") + wire.data(4, b"")


def encode_object(kind: schemas.Type, document: Document) -> bytes:
    """The message of an object whose fields are all known."""
    return b"".join(_encode_fields(kind, document))


def encode_list(kind: schemas.Type, document: Document) -> bytes:
    """The message of a list of such objects."""
    meta = schemas.definition("io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta")
    items = [wire.data(2, encode_object(kind, item)) for item in document["items"]]
    return wire.data(1, encode_object(meta, document["metadata"])) + b"".join(items)


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
    parts = dict(wire.read(data[len(MAGIC) :]))
    named = dict(wire.read(_part(parts, 1, b"")))
    return _part(named, 1, b"").decode(), _part(named, 2, b"").decode(), _part(parts, 2, b"")


def _part(parts: Mapping[int, Any], number: int, default: _Raw) -> _Raw:
    """One field of a message, of the type that its default has."""
    return _checked(parts.get(number, default), type(default))


def _checked(raw: Any, expected: type[_Raw]) -> _Raw:
    if not isinstance(raw, expected):
        raise IndexError(f"expected {expected.__name__} but got {type(raw).__name__}")
    return raw


def _decode(kind: schemas.Type, data: bytes) -> Document:
    message = _message(kind)
    document: Document = {}
    for number, value in wire.read(data):
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
        entry = dict(wire.read(_checked(raw, bytes)))
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
            return wire.signed(raw)
        case "bytes":
            return base64.b64encode(raw).decode()
        case "list" if kind.item is not None:  # of a map: a message with the items
            return [_value(kind.item, value) for _, value in wire.read(raw)]
    return _special(kind.kind, dict(wire.read(raw)))


def _special(kind: str, parts: dict[int, Any]) -> Any:
    """A value with a message of its own."""
    match kind:
        case "quantity":
            return _part(parts, 1, b"").decode()
        case "time" | "micro_time":
            return _time(kind, wire.signed(_part(parts, 1, 0)), _part(parts, 2, 0))
        case "int_or_string":
            is_string = _part(parts, 1, 0) == _INT_OR_STRING_IS_STRING
            return _part(parts, 3, b"").decode() if is_string else wire.signed(_part(parts, 2, 0))
        case "any":
            return storing.decode(_part(parts, 1, b"null"))
    raise KeyError(f"a value of type {kind}")


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
            yield wire.data(number, wire.text(1, key) + _encode_value(2, kind.item, item))
    else:
        yield _encode_value(number, kind, value)


def _encode_value(number: int, kind: schemas.Type, value: Any) -> bytes:
    match kind.kind:
        case "object":
            return wire.data(number, encode_object(kind, value))
        case "string":
            return wire.text(number, value)
        case "boolean" | "integer":
            return wire.integer(number, value)
        case "bytes":
            return wire.data(number, base64.b64decode(value))
        case "quantity":
            return wire.data(number, wire.text(1, str(value)))
        case "time" | "micro_time":
            return wire.data(number, _encode_time(value))
        case "int_or_string":
            return wire.data(number, _encode_int_or_string(value))
        case "list" if kind.item is not None:
            return wire.data(number, b"".join(_encode_value(1, kind.item, item) for item in value))
        case "any":
            return wire.data(number, wire.data(1, storing.encode(value)))
    raise KeyError(f"a value of type {kind.kind}")


def _encode_time(text: str) -> bytes:
    moment = datetime.datetime.fromisoformat(text)
    seconds = wire.integer(1, int(moment.timestamp()))
    return seconds + (wire.integer(2, moment.microsecond * 1000) if moment.microsecond else b"")


def _encode_int_or_string(value: int | str) -> bytes:
    if isinstance(value, str):
        return wire.integer(1, _INT_OR_STRING_IS_STRING) + wire.text(3, value)
    return wire.integer(1, 0) + wire.integer(2, value)
