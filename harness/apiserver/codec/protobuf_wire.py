"""The wire format of protobuf: numbered fields, without their meaning.

`read` yields the fields of a message.
"""

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

_VARINT, _FIXED_64, _BYTES, _GROUP, _GROUP_END, _FIXED_32 = range(6)
_UINT64 = 1 << 64
_INT64_BITS, _INT32_BITS = 64, 32
_DOUBLE = struct.Struct("<d")


class MalformedError(ValueError):
    """The bytes are not a valid message."""


class Skipped(NamedTuple):
    """A value of a wire type that Kubernetes does not use."""

    wire_type: int


def read(message: bytes, name: str = "") -> Iterator[tuple[int, Any]]:
    """Yield (number, value) of each field; a value is an integer, a float, bytes, or Skipped.

    Raises MalformedError if the message is malformed; its text contains `name`, the message's type.
    """
    at, end = 0, len(message)
    while at < end:
        key, at = (message[at], at + 1) if message[at] < 0x80 else _varint(message, at)
        number, wire_type = key >> 3, key & 7
        if wire_type == _GROUP_END:
            raise MalformedError(f"proto: {name}: wiretype end group for non-group")
        if not 0 < number < 1 << 31:
            raise MalformedError(f"proto: {name}: illegal tag {number} (wire type {key})")
        if wire_type == _BYTES and at < end and message[at] < 0x80:  # fast path: a short value
            start = at + 1
            at = start + message[at]
            if at > end:
                raise MalformedError("unexpected EOF")
            yield number, message[start:at]
        else:
            value, at = _value(message, at, wire_type)
            yield number, value


def packed(values: bytes) -> Iterator[int]:
    """Yield the integers of a packed repeated field."""
    at = 0
    while at < len(values):
        value, at = _varint(values, at)
        yield value


def int32(value: int) -> int:
    """Interpret a decoded integer as a signed 32-bit number."""
    return _signed(value, _INT32_BITS)


def int64(value: int) -> int:
    """Interpret a decoded integer as a signed 64-bit number."""
    return _signed(value, _INT64_BITS)


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
        case 3:
            return Skipped(wire_type), _after_group(message, at)
        case 5:
            _part(message, at, 4)
            return Skipped(wire_type), at + 4
    raise MalformedError(f"proto: illegal wireType {wire_type}")


def _part(message: bytes, at: int, length: int) -> bytes:
    if length >> (_INT64_BITS - 1):
        raise MalformedError("proto: negative length found during unmarshaling")
    part = message[at : at + length]
    if len(part) < length:
        raise MalformedError("unexpected EOF")
    return part


def _after_group(message: bytes, at: int) -> int:
    depth = 1
    while depth:
        key, at = _varint(message, at)
        if key & 7 == _GROUP:
            depth += 1
        elif key & 7 == _GROUP_END:
            depth -= 1
        else:
            _, at = _value(message, at, key & 7)
    return at


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    for byte in message[at : at + 10]:
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value % _UINT64, at
        shift += 7
    raise MalformedError("proto: integer overflow" if shift == 70 else "unexpected EOF")
