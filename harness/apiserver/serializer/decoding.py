"""Normalize decoded JSON as a Go server does by decoding it into structs and encoding these.

Unknown fields are dropped, `null` means unset, empty fields with `omitempty` are left out and other
unset fields are written with their zero value; times, quantities and bytes get their canonical
form. Each type is compiled once, into a function that walks a value without tracking paths. If the
value has problems, `strict_decoding` walks it again to describe them.
"""

import binascii
import dataclasses
import functools
import re
from collections.abc import Callable
from typing import Any

from harness.apiserver.scheme import api_types, quantities, timestamps
from harness.apiserver.scheme.json_document import Document

_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/=\r\n]")
_INT32 = range(-(2**31), 2**31)
_INT64 = range(-(2**63), 2**63)


class MismatchError(ValueError):
    """A value does not fit its type.

    The message is that of Go's parser of the type if it has one (quantities, times), else empty.
    """


@dataclasses.dataclass(slots=True)
class Tally:
    """Counts of a walk through a document."""

    keys: int = 0
    """Number of keys in all objects; a duplicate key counts once."""
    unknown: int = 0
    """Number of fields that the types do not have."""


Reader = Callable[[Any, Tally], Any]


def read(kind: api_types.Type, value: Any, tally: Tally) -> Any:
    """Return the normalized value, and add to `tally`; the input is not changed.

    Raises MismatchError if the value is not of the type.
    """
    return reader(kind)(value, tally)


@functools.cache
def reader(kind: api_types.Type) -> Reader:
    """Return the compiled function that normalizes values of a type."""
    return _MAKERS[kind.kind](kind)


# ------------------------------------------------------------------ structures


Plan = tuple[type | None, Reader, bool]
"""How to read a field: the Python type to accept as is, the reader, whether to keep zeros."""


class _Layout:
    """The compiled fields of an object type."""

    def __init__(self, kind: api_types.Type) -> None:
        self.plans: dict[str, Plan] = {}
        self.constants: Document = {}
        """Zero values of fields without `omitempty` that are not structs."""
        self.structs: list[tuple[str, Callable[[], Any]]] = []
        """Factories of empty structs for the struct fields without `omitempty`."""
        for name, field in kind.fields.items():
            distinguishes_zero = field.pointer or name == "managedFields"
            keep_zero = distinguishes_zero or field.type.kind in ("object", "any")
            self.plans[name] = (_PLAIN.get(field.type.kind), reader(field.type), keep_zero)
            if field.always:
                self._add_zero(name, field)

    def _add_zero(self, name: str, field: api_types.Field) -> None:
        zero = field.zero()
        if isinstance(zero, dict):
            self.structs.append((name, field.zero if zero else dict))
        else:
            self.constants[name] = zero


def _object_reader(kind: api_types.Type) -> Reader:
    layout: _Layout | None = None

    def read_object(value: Any, tally: Tally) -> Any:
        nonlocal layout
        if not isinstance(value, dict):
            raise MismatchError
        if layout is None:
            layout = _Layout(kind)  # compiled on first use, because types may be recursive
        plans = layout.plans
        tally.keys += len(value)
        normalized = layout.constants.copy()
        for name, child in value.items():
            if (plan := plans.get(name)) is None:
                tally.unknown += 1
            elif child is not None:
                plain, read_child, keep_zero = plan
                result = child if type(child) is plain else read_child(child, tally)
                if result or keep_zero:
                    normalized[name] = result
        for name, zero in layout.structs:
            if name not in normalized:
                normalized[name] = zero()
        return normalized

    return read_object


def _list_reader(kind: api_types.Type) -> Reader:
    item = _item(kind)
    plain, zero, read_item = _PLAIN.get(item.kind), item.zero, reader(item)

    def read_list(value: Any, tally: Tally) -> Any:
        if not isinstance(value, list):
            raise MismatchError
        return [
            child if type(child) is plain else zero() if child is None else read_item(child, tally)
            for child in value
        ]

    return read_list


def _map_reader(kind: api_types.Type) -> Reader:
    item = _item(kind)
    plain, zero, read_item = _PLAIN.get(item.kind), item.zero, reader(item)

    def read_map(value: Any, tally: Tally) -> Any:
        if not isinstance(value, dict):
            raise MismatchError
        tally.keys += len(value)
        return {
            key: child
            if type(child) is plain
            else zero()
            if child is None
            else read_item(child, tally)
            for key, child in value.items()
        }

    return read_map


def _item(kind: api_types.Type) -> api_types.Type:
    if kind.item is None:
        raise TypeError(f"expected a {kind.kind} with items")
    return kind.item


# ------------------------------------------------------------------ values


def _read_any(value: Any, tally: Tally) -> Any:
    tally.keys += count_keys(value)
    return value


def count_keys(value: Any) -> int:
    """Return the number of keys of all objects in a decoded document, at any depth."""
    count, waiting = 0, [value]
    while waiting:
        here = waiting.pop()
        if isinstance(here, dict):
            count += len(here)
            waiting.extend(here.values())
        elif isinstance(here, list):
            waiting.extend(here)
    return count


def _scalar_reader(expected: type) -> Reader:
    def read_scalar(value: Any, _: Tally) -> Any:
        if type(value) is not expected:
            raise MismatchError
        return value

    return read_scalar


def _integer_reader(kind: api_types.Type) -> Reader:
    allowed = _INT32 if kind.format == "int32" else _INT64

    def read_integer(value: Any, _: Tally) -> Any:
        if type(value) is not int or value not in allowed:
            raise MismatchError
        return value

    return read_integer


def _read_number(value: Any, _: Tally) -> Any:
    if type(value) not in (int, float):
        raise MismatchError
    return value


def _read_int_or_string(value: Any, _: Tally) -> Any:
    if type(value) is str or (type(value) is int and value in _INT32):
        return value
    raise MismatchError


def _read_quantity(value: Any, _: Tally) -> Any:
    if type(value) not in (str, int, float):
        raise MismatchError(quantities.WRONG_FORMAT)
    try:
        return quantities.canonical(value)
    except quantities.QuantityError as error:
        raise MismatchError(str(error)) from error


def _read_bytes(value: Any, _: Tally) -> Any:
    if type(value) is not str:
        raise MismatchError
    try:
        return _canonical_base64(value)
    except ValueError as error:
        raise MismatchError(f"illegal base64 data at input byte {_first_wrong(value)}") from error


def _canonical_base64(text: str) -> str:
    decoded = binascii.a2b_base64(text.replace("\n", "").replace("\r", ""), strict_mode=True)
    return binascii.b2a_base64(decoded, newline=False).decode()


def _first_wrong(text: str) -> int:
    """Return the offset at which Go's decoder stops.

    It is that of the first character outside the alphabet, else of the last group of four.
    """
    match = _NOT_BASE64.search(text)
    return match.start() if match else len(text) // 4 * 4


def _time_reader(canonical: Callable[[str], str]) -> Reader:
    def read_time(value: Any, _: Tally) -> Any:
        if type(value) is not str:
            raise MismatchError
        try:
            return canonical(value)
        except ValueError as error:
            raise MismatchError(str(error)) from error

    return read_time


_PLAIN: dict[api_types.Kind, type] = {"string": str, "boolean": bool}
"""Kinds whose values are valid if they have this Python type."""

_MAKERS: dict[api_types.Kind, Callable[[api_types.Type], Reader]] = {
    "object": _object_reader,
    "list": _list_reader,
    "map": _map_reader,
    "integer": _integer_reader,
    "any": lambda _: _read_any,
    "string": lambda _: _scalar_reader(str),
    "boolean": lambda _: _scalar_reader(bool),
    "number": lambda _: _read_number,
    "int_or_string": lambda _: _read_int_or_string,
    "quantity": lambda _: _read_quantity,
    "bytes": lambda _: _read_bytes,
    "time": lambda _: _time_reader(timestamps.canonical),
    "micro_time": lambda _: _time_reader(timestamps.canonical_micro),
}
