"""Decode messages of Kubernetes' protobuf encoding into documents, as Go writes them in JSON.

Each type is compiled once, into a table of functions by field number. Unknown field numbers are
skipped, as in Go. Zero values are kept for pointer fields only, where Go distinguishes them from
unset ones.
"""

import base64
import datetime
import functools
import pkgutil
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from harness.apiserver.codec import json_codec, protobuf_wire
from harness.apiserver.scheme import api_types
from harness.apiserver.scheme.json_document import Document

_GZIP = 16 + zlib.MAX_WBITS
Paths = Mapping[str, tuple[int, ...]]


def paths(definition: str) -> Paths:
    """Return the path of each field of a definition; empty if the definition has no message."""
    return _tables().get(definition, {})


def split(paths: Paths) -> tuple[dict[str, int], dict[int, Paths]]:
    """Return a message's own fields with their numbers, and the paths in each embedded message.

    Embedded messages are keyed by their number.
    """
    own = {name: path[0] for name, path in paths.items() if len(path) == 1}
    embedded: dict[int, dict[str, tuple[int, ...]]] = {}
    for name, (number, *rest) in paths.items():
        if rest:
            embedded.setdefault(number, {})[name] = tuple(rest)
    return own, dict(embedded)


@functools.cache
def _tables() -> Mapping[str, Paths]:
    data = pkgutil.get_data(__package__, "protobuf.json.gz")
    if data is None:
        raise FileNotFoundError("protobuf.json.gz")
    text = zlib.decompress(data, wbits=_GZIP)
    return msgspec.json.decode(text, type=dict[str, dict[str, tuple[int, ...]]])


Put = Callable[[Document, Any], None]
Plan = dict[int, Put]
Convert = Callable[[Any], Any]

INT_OR_STRING_IS_STRING = 1
_YEAR_1_S = -62_135_596_800
_WIRE_TYPES: dict[type, int] = {int: 0, float: 1, bytes: 2}
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_GO_NAMES = {"metadata": "ObjectMeta"}


def read(kind: api_types.Type, message: bytes) -> Document:
    """Return the document in a message of a type. Raises protobuf_wire.MalformedError."""
    document: Document = {}
    try:
        _fill(document, _plan(kind), message, kind.name)
    except RecursionError as error:
        raise protobuf_wire.MalformedError("exceeded max depth") from error
    return document


def _fill(document: Document, plan: Plan, message: bytes, name: str) -> None:
    for number, raw in protobuf_wire.read(message, name.rpartition(".")[2]):
        if (put := plan.get(number)) is not None:
            put(document, raw)


@functools.cache
def _plan(kind: api_types.Type) -> Plan:
    return _branch(kind, paths(kind.name))


def _branch(kind: api_types.Type, paths: Paths) -> Plan:
    """Return the plan of a message; fields with longer paths belong to embedded messages."""
    own, embedded = split(paths)
    plan = {number: _putter(kind.field(name)) for name, number in own.items()}
    return plan | {number: _embedded_putter(kind, inner) for number, inner in embedded.items()}


# ------------------------------------------------------------------ fields


def _putter(field: api_types.Field) -> Put:
    match field.type.kind:
        case "object":
            return _object_putter(field)
        case "list":
            return _list_putter(field)
        case "map":
            return _map_putter(field)
    return _value_putter(field)


def _embedded_putter(kind: api_types.Type, paths: Paths) -> Put:
    plan: Plan = _branch(kind, paths)

    def put_embedded(document: Document, raw: Any) -> None:
        _fill(document, plan, _checked(raw, bytes, kind.name), kind.name)

    return put_embedded


def _object_putter(field: api_types.Field) -> Put:
    name, kind = field.name, field.type

    def put_object(document: Document, raw: Any) -> None:
        message = _checked(raw, bytes, name)
        _fill(document.setdefault(name, {}), _plan(kind), message, kind.name)

    return put_object


def _value_putter(field: api_types.Field) -> Put:
    name, (expected, convert) = field.name, _reader(field.type)
    keeps_zero = field.pointer or field.type.kind == "any"

    def put_value(document: Document, raw: Any) -> None:
        value = convert(raw if type(raw) is expected else _checked(raw, expected, name))
        if value or (keeps_zero and value is not None):
            document[name] = value
        else:
            document.pop(name, None)  # the last occurrence of a field wins

    return put_value


def _list_putter(field: api_types.Field) -> Put:
    name, (expected, convert) = field.name, _reader(_item(field.type))

    def put_item(document: Document, raw: Any) -> None:
        items = document.setdefault(name, [])
        if expected is int and type(raw) is bytes:
            items.extend(map(convert, protobuf_wire.packed(raw)))
        else:
            items.append(convert(_checked(raw, expected, name)))

    return put_item


def _map_putter(field: api_types.Field) -> Put:
    name, (expected, convert) = field.name, _reader(_item(field.type))

    def put_entry(document: Document, raw: Any) -> None:
        key, value = b"", expected()
        for number, part in protobuf_wire.read(_checked(raw, bytes, name), name):
            if number == 1:
                key = _checked(part, bytes, name)
            elif number == 2:
                value = _checked(part, expected, name)
        document.setdefault(name, {})[_text(key)] = convert(value)

    return put_entry


def _item(kind: api_types.Type) -> api_types.Type:
    if kind.item is None:
        raise TypeError(f"expected a {kind.kind} with items")
    return kind.item


def _checked(raw: Any, expected: type, name: str) -> Any:
    if type(raw) is expected:
        return raw
    wire_type = raw.wire_type if isinstance(raw, protobuf_wire.Skipped) else _WIRE_TYPES[type(raw)]
    go_name = _GO_NAMES.get(name) or name[:1].upper() + name[1:]
    raise protobuf_wire.MalformedError(f"proto: wrong wireType = {wire_type} for field {go_name}")


# ------------------------------------------------------------------ values


def _reader(kind: api_types.Type) -> tuple[type, Convert]:
    match kind.kind:
        case "object":
            return bytes, functools.partial(_read_object, kind)
        case "list":  # as the value of a map, a list is a message with its items
            return bytes, functools.partial(_read_items, _item(kind))
        case "integer":
            return int, protobuf_wire.int32 if kind.format == "int32" else protobuf_wire.int64
    return _READERS[kind.kind]


def _read_object(kind: api_types.Type, message: bytes) -> Document:
    document: Document = {}
    _fill(document, _plan(kind), message, kind.name)
    return document


def _read_items(item: api_types.Type, message: bytes) -> list[Any]:
    expected, convert = _reader(item)
    return [
        convert(_checked(raw, expected, "Items"))
        for number, raw in protobuf_wire.read(message, "Items")
        if number == 1
    ]


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")


def _parts(message: bytes, name: str, types: tuple[type, ...]) -> list[Any]:
    """Return the fields of a small message in order of their numbers, zero if absent."""
    values = [expected() for expected in types]
    for number, raw in protobuf_wire.read(message, name):
        if number <= len(types):
            values[number - 1] = _checked(raw, types[number - 1], name)
    return values


def _read_quantity(message: bytes) -> str:
    (text,) = _parts(message, "Quantity", (bytes,))
    return _text(text) or "0"


def _read_int_or_string(message: bytes) -> int | str:
    kind, number, text = _parts(message, "IntOrString", (int, int, bytes))
    return _text(text) if kind == INT_OR_STRING_IS_STRING else protobuf_wire.int32(number)


def _read_time(message: bytes) -> str | None:
    """Return a time in whole seconds, as in JSON; None for Go's zero time, which means unset."""
    seconds, _ = _parts(message, "Timestamp", (int, int))
    return _moment(protobuf_wire.int64(seconds), 0, "seconds") if message else None


def _read_micro_time(message: bytes) -> str | None:
    seconds, nanoseconds = _parts(message, "Timestamp", (int, int))
    microseconds = protobuf_wire.int32(nanoseconds) // 1000
    return _moment(protobuf_wire.int64(seconds), microseconds, "microseconds") if message else None


def _moment(seconds: int, microseconds: int, unit: str) -> str | None:
    if seconds == _YEAR_1_S and not microseconds:
        return None
    try:
        moment = _EPOCH + datetime.timedelta(seconds=seconds, microseconds=microseconds)
    except OverflowError as error:
        why = f"Time.MarshalJSON: {seconds} s is outside of the years 1 to 9999"
        raise protobuf_wire.MalformedError(why) from error
    return moment.replace(tzinfo=None).isoformat(timespec=unit) + "Z"


def _read_any(message: bytes) -> Any:
    (raw,) = _parts(message, "RawExtension", (bytes,))
    try:
        return json_codec.decode(raw) if raw else None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise protobuf_wire.MalformedError(f"json: error calling MarshalJSON: {error}") from error


_READERS: dict[api_types.Kind, tuple[type, Convert]] = {
    "string": (bytes, _text),
    "boolean": (int, bool),
    "number": (float, float),
    "bytes": (bytes, lambda raw: base64.b64encode(raw).decode()),
    "quantity": (bytes, _read_quantity),
    "time": (bytes, _read_time),
    "micro_time": (bytes, _read_micro_time),
    "int_or_string": (bytes, _read_int_or_string),
    "any": (bytes, _read_any),
}
