"""Decode bodies in Kubernetes' protobuf encoding into documents, as Go writes them in JSON.

A body is an envelope, `k8s.io/apimachinery/pkg/runtime.Unknown`, with the message of an object.
Unknown field numbers are skipped, as in Go. Zero values are kept for pointer fields only, where Go
distinguishes them from unset ones. Responses are never in protobuf.
"""

import base64
import datetime
import functools
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from harness import protobuf_wire
from harness.apiserver import json_codec
from harness.apiserver.json_codec import Document
from harness.apiserver.scheme import api_types

MAGIC = b"k8s\x00"
INT_OR_STRING_IS_STRING = 1
"""The `type` of an IntOrString that has a string."""
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_YEAR_1_S = -62_135_596_800
"""The seconds of Go's zero time."""
Paths = Mapping[str, tuple[int, ...]]
Plan = dict[int, "api_types.Field | Plan"]
"""Field number -> a field, or a message whose fields are those of the object."""
Convert = Callable[[Any], Any]


def document(data: bytes, *, api_version: str = "", kind: str = "") -> Document:
    """Return the object or list in an envelope as it is in JSON.

    Type fields that the envelope leaves empty default to `api_version` and `kind`. Raises
    protobuf_wire.MalformedError if it is malformed or its kind is unknown.
    """
    if not data.startswith(MAGIC):
        raise protobuf_wire.MalformedError("it does not begin as Kubernetes' protobuf messages do")
    named, message = _parts(data[len(MAGIC) :], (bytes, bytes))
    api_version, kind = (
        _text(given) or expected
        for given, expected in zip(_parts(named, (bytes, bytes)), (api_version, kind), strict=True)
    )
    group, _, version = api_version.rpartition("/")
    try:
        found = api_types.of_kind(group, version, kind)
    except KeyError as error:
        why = f"kind {kind} of {api_version} has no protobuf message"
        raise protobuf_wire.MalformedError(why) from error
    return {"kind": kind, "apiVersion": api_version, **read(found, message)}


def read(kind: api_types.Type, message: bytes) -> Document:
    """Return the document in a message of a type. Raises protobuf_wire.MalformedError."""
    try:
        return _read_object(kind, message)
    except RecursionError as error:
        raise protobuf_wire.MalformedError(json_codec.TOO_DEEP) from error


# ------------------------------------------------------------------ the table of field numbers


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
    text = json_codec.packed(__package__, "protobuf.json.gz")
    return msgspec.json.decode(text, type=dict[str, dict[str, tuple[int, ...]]])


@functools.cache
def _plan(kind: api_types.Type) -> Plan:
    return _branch(kind, paths(kind.name))


def _branch(kind: api_types.Type, paths: Paths) -> Plan:
    """Return the plan of a message; fields with longer paths belong to embedded messages."""
    own, embedded = split(paths)
    plan: Plan = {number: kind.fields[name] for name, number in own.items()}
    return plan | {number: _branch(kind, below) for number, below in embedded.items()}


# ------------------------------------------------------------------ fields


def _fill(document: Document, plan: Plan, message: bytes) -> None:
    for number, raw in protobuf_wire.read(message):
        match plan.get(number):
            case api_types.Field() as field:
                _put(document, field, raw)
            case dict() as embedded:
                _fill(document, embedded, _checked(raw, bytes))


def _put(document: Document, field: api_types.Field, raw: Any) -> None:
    name, kind = field.name, field.type
    if kind.kind == "object":
        _fill(document.setdefault(name, {}), _plan(kind), _checked(raw, bytes))
        return
    expected, convert = _reader(kind.item or kind)
    if kind.kind == "map":
        key, value = _parts(_checked(raw, bytes), (bytes, expected))
        document.setdefault(name, {})[_text(key)] = convert(value)
    elif kind.kind == "list" and expected is int and type(raw) is bytes:
        document.setdefault(name, []).extend(map(convert, protobuf_wire.packed(raw)))
    elif kind.kind == "list":
        document.setdefault(name, []).append(convert(_checked(raw, expected)))
    else:
        value = convert(_checked(raw, expected))
        if value or (value is not None and (field.pointer or kind.kind == "any")):
            document[name] = value
        else:
            document.pop(name, None)  # the last occurrence of a field wins


def _checked(raw: Any, expected: type) -> Any:
    if type(raw) is not expected:
        raise protobuf_wire.MalformedError("a field has another wire type than its message says")
    return raw


def _parts(message: bytes, types: tuple[type, ...]) -> list[Any]:
    """Return the fields of a small message in order of their numbers, zero if absent."""
    values = [expected() for expected in types]
    for number, raw in protobuf_wire.read(message):
        if number <= len(types):
            values[number - 1] = _checked(raw, types[number - 1])
    return values


# ------------------------------------------------------------------ values


@functools.cache
def _reader(kind: api_types.Type) -> tuple[type, Convert]:
    match kind.kind:
        case "object":
            return bytes, functools.partial(_read_object, kind)
        case "list":  # as the value of a map, a list is a message with its items
            return bytes, functools.partial(_read_items, kind.item_type)
        case "integer":
            return int, protobuf_wire.int32 if kind.format == "int32" else protobuf_wire.int64
    return _READERS[kind.kind]


def _read_object(kind: api_types.Type, message: bytes) -> Document:
    document: Document = {}
    _fill(document, _plan(kind), message)
    return document


def _read_items(item: api_types.Type, message: bytes) -> list[Any]:
    expected, convert = _reader(item)
    found = protobuf_wire.read(message)
    return [convert(_checked(raw, expected)) for number, raw in found if number == 1]


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")


def _read_quantity(message: bytes) -> str:
    (text,) = _parts(message, (bytes,))
    return _text(text) or "0"


def _read_int_or_string(message: bytes) -> int | str:
    kind, number, text = _parts(message, (int, int, bytes))
    return _text(text) if kind == INT_OR_STRING_IS_STRING else protobuf_wire.int32(number)


def _read_time(unit: str, message: bytes) -> str | None:
    """Return a time as in JSON; None for Go's zero time, which means unset."""
    seconds, nanoseconds = map(protobuf_wire.int64, _parts(message, (int, int)))
    microseconds = nanoseconds // 1000 if unit == "microseconds" else 0
    if not message or (seconds == _YEAR_1_S and not microseconds):
        return None
    try:
        moment = _EPOCH + datetime.timedelta(seconds=seconds, microseconds=microseconds)
    except OverflowError as error:
        why = f"{seconds} s is outside of the years 1 to 9999"
        raise protobuf_wire.MalformedError(why) from error
    return moment.replace(tzinfo=None).isoformat(timespec=unit) + "Z"


def _read_any(message: bytes) -> Any:
    (raw,) = _parts(message, (bytes,))
    try:
        return json_codec.decode(raw) if raw else None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise protobuf_wire.MalformedError(f"it holds no JSON: {error}") from error


_READERS: dict[api_types.Kind, tuple[type, Convert]] = {
    "string": (bytes, _text),
    "boolean": (int, bool),
    "number": (float, float),
    "bytes": (bytes, lambda raw: base64.b64encode(raw).decode()),
    "quantity": (bytes, _read_quantity),
    "time": (bytes, functools.partial(_read_time, "seconds")),
    "micro_time": (bytes, functools.partial(_read_time, "microseconds")),
    "int_or_string": (bytes, _read_int_or_string),
    "any": (bytes, _read_any),
}
