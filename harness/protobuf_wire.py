"""The wire format of protobuf: numbered fields, without their meaning."""

import struct
from collections.abc import Iterator
from typing import Any

_BYTES = 2
_UINT64 = 1 << 64
_DOUBLE = struct.Struct("<d")


class MalformedError(ValueError):
    """The bytes are not a valid message."""


def read(message: bytes) -> Iterator[tuple[int, Any]]:
    """Yield (number, value) of each field; a value is an integer, a float, or bytes.

    Raises MalformedError if the message is malformed.
    """
    at, end = 0, len(message)
    while at < end:
        key, at = (message[at], at + 1) if message[at] < 0x80 else _varint(message, at)
        number, wire_type = key >> 3, key & 7
        if not number:
            raise MalformedError("a field has the number 0")
        if wire_type == _BYTES and at < end and message[at] < 0x80:  # fast path: a short value
            start = at + 1
            at = start + message[at]
            if at > end:
                raise MalformedError("unexpected end")
            yield number, message[start:at]
        else:
            value, at = _value(message, at, wire_type)
            yield number, value


def parts(message: bytes) -> dict[int, bytes]:
    """Return the fields of bytes by number; of repeated ones the last. Raises MalformedError."""
    return {number: value for number, value in read(message) if isinstance(value, bytes)}


def first(message: bytes, number: int) -> bytes:
    """Return the first field of bytes with this number, empty if there is none.

    The fields after it are not read, which matters for long lists. Raises MalformedError.
    """
    found = (value for key, value in read(message) if key == number and isinstance(value, bytes))
    return next(found, b"")


def packed(values: bytes) -> Iterator[int]:
    """Yield the integers of a packed repeated field."""
    at = 0
    while at < len(values):
        value, at = _varint(values, at)
        yield value


def int32(value: int) -> int:
    return _signed(value, 32)


def int64(value: int) -> int:
    return _signed(value, 64)


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _value(message: bytes, at: int, wire_type: int) -> tuple[Any, int]:
    match wire_type:
        case 0:
            return _varint(message, at)
        case 1:
            return _DOUBLE.unpack(_part(message, at, 8))[0], at + 8
        case 2:
            length, at = _varint(message, at)
            return _part(message, at, length), at + length
        case 5:
            return _part(message, at, 4), at + 4
    raise MalformedError(f"unknown wire type {wire_type}")


def _part(message: bytes, at: int, length: int) -> bytes:
    part = message[at : at + length]
    if len(part) < length:
        raise MalformedError("unexpected end")
    return part


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    for byte in message[at : at + 10]:
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value % _UINT64, at
        shift += 7
    raise MalformedError("a number does not end")


def field(number: int, value: bytes | str | int) -> bytes:
    """Encode a field of bytes, a string, a nested message or a non-negative integer."""
    if isinstance(value, int):
        return _encoded(number << 3) + _encoded(value)
    content = value.encode() if isinstance(value, str) else value
    return _encoded(number << 3 | _BYTES) + _encoded(len(content)) + content


def _encoded(value: int) -> bytes:
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)
