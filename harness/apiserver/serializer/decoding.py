"""Normalize decoded JSON as a Go server does by decoding it into structs and encoding these.

Unknown fields are dropped, `null` means unset, empty fields with `omitempty` are left out and other
unset fields are written with their zero value; times, quantities and bytes get their canonical
form. Each type is compiled once, into a function that walks a value without tracking paths.
`unknown_fields` walks a document again to find the paths.
"""

import binascii
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from harness.apiserver.json_codec import Document
from harness.apiserver.scheme import api_types, quantities, timestamps

_INT32 = range(-(2**31), 2**31)
_INT64 = range(-(2**63), 2**63)


class MismatchError(ValueError):
    """A value does not fit its type."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self._why = why
        self._path: list[str] = []

    def add(self, name: str) -> None:
        """Add the name of the field that the value, or what contains it, is in."""
        self._path.append(name)

    def __str__(self) -> str:
        return f"{'.'.join(reversed(self._path))}: {self._why}" if self._path else self._why


Unknown = list[str]
"""Names of fields that the types do not have."""
Reader = Callable[[Any, Unknown], Any]


def read(kind: api_types.Type, value: Any, unknown: Unknown | None = None) -> Any:
    """Return the normalized value, and add to `unknown`; the input is not changed.

    Raises MismatchError if the value is not of the type.
    """
    return _reader(kind)(value, [] if unknown is None else unknown)


@functools.cache
def _reader(kind: api_types.Type) -> Reader:
    """Return the compiled function that normalizes values of a type."""
    return _MAKERS[kind.kind](kind)


# ------------------------------------------------------------------ structures


Plan = tuple[type | None, Reader, bool]
"""How to read a field: the Python type to accept as is, the reader, whether to keep zeros."""


def _layout(
    kind: api_types.Type,
) -> tuple[Mapping[str, Plan], Document, list[tuple[str, Callable[[], Any]]]]:
    """Return how to read the fields of an object, and the zeros of those without `omitempty`.

    Zeros are constants, or factories for structs.
    """
    plans: dict[str, Plan] = {}
    constants: Document = {}
    structs: list[tuple[str, Callable[[], Any]]] = []
    for name, field in kind.fields.items():
        keeps_zero = (
            field.pointer or name == "managedFields" or field.type.kind in ("object", "any")
        )
        plans[name] = (_PLAIN.get(field.type.kind), _reader(field.type), keeps_zero)
        zero = field.zero()
        if field.always and isinstance(zero, dict):
            structs.append((name, field.zero if zero else dict))
        elif field.always:
            constants[name] = zero
    return plans, constants, structs


def _object_reader(kind: api_types.Type) -> Reader:
    layout: Any = None

    def read_object(value: Any, unknown: Unknown) -> Any:
        nonlocal layout
        if not isinstance(value, dict):
            raise _mismatch("an object", value)
        layout = layout or _layout(kind)  # compiled on first use, because types may be recursive
        plans, constants, structs = layout
        normalized = constants.copy()
        name = ""
        try:
            for name, child in value.items():
                if (plan := plans.get(name)) is None:
                    unknown.append(name)
                elif child is not None:
                    plain, read_child, keep_zero = plan
                    result = child if type(child) is plain else read_child(child, unknown)
                    if result or keep_zero:
                        normalized[name] = result
        except MismatchError as error:
            error.add(name)
            raise
        for name, zero in structs:
            if name not in normalized:
                normalized[name] = zero()
        return normalized

    return read_object


def _list_reader(kind: api_types.Type) -> Reader:
    item = kind.item_type
    plain, zero, read_item = _PLAIN.get(item.kind), item.zero, _reader(item)

    def read_list(value: Any, unknown: Unknown) -> Any:
        if not isinstance(value, list):
            raise _mismatch("a list", value)
        return [
            child
            if type(child) is plain
            else zero()
            if child is None
            else read_item(child, unknown)
            for child in value
        ]

    return read_list


def _map_reader(kind: api_types.Type) -> Reader:
    item = kind.item_type
    plain, zero, read_item = _PLAIN.get(item.kind), item.zero, _reader(item)

    def read_map(value: Any, unknown: Unknown) -> Any:
        if not isinstance(value, dict):
            raise _mismatch("an object", value)
        return {
            key: child
            if type(child) is plain
            else zero()
            if child is None
            else read_item(child, unknown)
            for key, child in value.items()
        }

    return read_map


# ------------------------------------------------------------------ values


def _mismatch(expected: str, value: Any) -> MismatchError:
    return MismatchError(f"expected {expected}, got {type(value).__name__}")


def _scalar_reader(what: str, *types: type) -> Reader:
    def read_scalar(value: Any, _: Unknown) -> Any:
        if type(value) not in types:
            raise _mismatch(what, value)
        return value

    return read_scalar


def _integer_reader(kind: api_types.Type) -> Reader:
    allowed = _INT32 if kind.format == "int32" else _INT64

    def read_integer(value: Any, _: Unknown) -> Any:
        if type(value) is not int or value not in allowed:
            raise _mismatch(f"an {kind.format or 'int64'}", value)
        return value

    return read_integer


def _read_int_or_string(value: Any, _: Unknown) -> Any:
    if type(value) is str or (type(value) is int and value in _INT32):
        return value
    raise _mismatch("a string or an int32", value)


def _text_reader(
    canonical: Callable[[Any], str], what: str, *, types: tuple[type, ...] = (str,)
) -> Reader:
    """Return the reader of values with a canonical form; `canonical` raises ValueError."""

    def read_text(value: Any, _: Unknown) -> Any:
        if type(value) not in types:
            raise _mismatch(what, value)
        try:
            return canonical(value)
        except ValueError as error:
            raise MismatchError(f"expected {what}: {error}") from error

    return read_text


def _canonical_base64(text: str) -> str:
    decoded = binascii.a2b_base64(text.replace("\n", "").replace("\r", ""), strict_mode=True)
    return binascii.b2a_base64(decoded, newline=False).decode()


_read_quantity = _text_reader(quantities.canonical, "a quantity", types=(str, int, float))
_read_bytes = _text_reader(_canonical_base64, "base64")
_read_time = _text_reader(timestamps.canonical, "a time")
_read_micro_time = _text_reader(timestamps.canonical_micro, "a time")
_PLAIN: dict[api_types.Kind, type] = {"string": str, "boolean": bool}
"""Kinds whose values are valid if they have this Python type."""

_MAKERS: dict[api_types.Kind, Callable[[api_types.Type], Reader]] = {
    "object": _object_reader,
    "list": _list_reader,
    "map": _map_reader,
    "integer": _integer_reader,
    "any": lambda _: lambda value, _: value,
    "string": lambda _: _scalar_reader("a str", str),
    "boolean": lambda _: _scalar_reader("a bool", bool),
    "number": lambda _: _scalar_reader("a number", int, float),
    "int_or_string": lambda _: _read_int_or_string,
    "quantity": lambda _: _read_quantity,
    "bytes": lambda _: _read_bytes,
    "time": lambda _: _read_time,
    "micro_time": lambda _: _read_micro_time,
}


# ------------------------------------------------------------------ unknown fields


def unknown_fields(kind: api_types.Type, value: Any, at: str = "") -> Iterator[str]:
    """Yield the paths of the fields that the type does not have."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from unknown_fields(kind.item or api_types.ANY, item, f"{at}[{index}]")
    elif isinstance(value, dict):
        for name, child in value.items():
            path = f"{at}.{name}" if at else name
            if (field := kind.fields.get(name)) is not None:
                yield from unknown_fields(field.type, child, path)
            elif kind.kind == "object":
                yield path
            else:
                yield from unknown_fields(kind.item or api_types.ANY, child, path)
