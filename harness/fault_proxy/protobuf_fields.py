"""The few parts of protobuf's wire format that the proxy needs: fields of bytes and integers.

The embedded API server has a complete one, which is not used here: the server is sealed.
"""

from collections.abc import Iterator

_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5
_FIXED_SIZES = {_FIXED_64: 8, _FIXED_32: 4}
_VARINT_BYTES_MAX = 10


def fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield number and content of each field of bytes, in order; other fields are passed over.

    Raises ValueError if the message is malformed.
    """
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, wire_type = key >> 3, key & 7
        if wire_type == _BYTES:
            size, at = _varint(message, at)
            if at + size > len(message):
                raise ValueError("a field ends beyond its message")
            yield number, message[at : at + size]
            at += size
        elif wire_type == _VARINT:
            _, at = _varint(message, at)
        elif wire_type in _FIXED_SIZES:
            at += _FIXED_SIZES[wire_type]
        else:
            raise ValueError(f"wire type {wire_type} is not used by Kubernetes")


def read(message: bytes) -> dict[int, bytes]:
    """Return the fields of bytes by number; of repeated ones the last. Raises ValueError."""
    return dict(fields(message))


def first(message: bytes, number: int) -> bytes:
    """Return the first field with this number, empty if there is none. Raises ValueError.

    The fields after it are not read, which matters for long lists.
    """
    return next((content for found, content in fields(message) if found == number), b"")


def data(number: int, content: bytes) -> bytes:
    """Encode a field of bytes, a string or a nested message."""
    return _encoded(number << 3 | _BYTES) + _encoded(len(content)) + content


def integer(number: int, value: int) -> bytes:
    """Encode a field of a non-negative integer."""
    return _encoded(number << 3 | _VARINT) + _encoded(value)


def _encoded(value: int) -> bytes:
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for position, byte in enumerate(message[at : at + _VARINT_BYTES_MAX]):
        value |= (byte & 0x7F) << (7 * position)
        if byte < 0x80:
            return value, at + position + 1
    raise ValueError("an integer does not end")
