"""The wire format of protobuf: fields of numbers and bytes, whatever they mean.

`read` gives what is in a message; `integer`, `text` and `data` make one field each: a message is such fields one after the other, and a
message in a message is `data`.
"""

from collections.abc import Iterator
from typing import Any

_VARINT, _BYTES = 0, 2
_UINT64 = 1 << 64


def read(message: bytes) -> Iterator[tuple[int, Any]]:
    """(number, value) of each field: an integer, or bytes; IndexError for what is no message."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        match key & 7:
            case 0:
                value, at = _varint(message, at)
                yield key >> 3, value
            case 2:
                length, at = _varint(message, at)
                if at + length > len(message):
                    raise IndexError("it ends early")
                yield key >> 3, message[at : at + length]
                at += length
            case other:
                raise IndexError(f"wire type {other} is not used by Kubernetes")


def integer(number: int, value: int) -> bytes:
    """A field with an integer or a boolean."""
    return _varint_bytes(number << 3 | _VARINT) + _varint_bytes(int(value) % _UINT64)


def text(number: int, value: str) -> bytes:
    """A field with a text."""
    return data(number, value.encode())


def data(number: int, value: bytes) -> bytes:
    """A field with bytes or a message."""
    return _varint_bytes(number << 3 | _BYTES) + _varint_bytes(len(value)) + value


def signed(value: int) -> int:
    """What was read, as a number with a sign."""
    return value - _UINT64 if value >> 63 else value


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _varint_bytes(value: int) -> bytes:
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)
