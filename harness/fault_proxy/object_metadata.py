"""The identity of the object in a request, response or watch event, in JSON or protobuf.

Only what records of faults show is read: name, namespace, uid and resourceVersion. A field that
cannot be read is empty; the proxy does not judge what it passes.
"""

import gzip
import zlib
from collections.abc import Iterator

import msgspec

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


MAGIC = b"k8s\x00"
"""The first bytes of an object in protobuf, before its envelope (`runtime.Unknown`)."""


class Metadata(msgspec.Struct, frozen=True, rename="camel"):
    """The metadata of one object; of a list, only its version."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""

    @property
    def version(self) -> int:
        """The resourceVersion as an integer, 0 if it is unknown."""
        return int(self.resource_version) if self.resource_version.isdecimal() else 0


class _Object(msgspec.Struct, frozen=True):
    metadata: Metadata = Metadata()


class _Event(msgspec.Struct, frozen=True):
    type: str = ""
    object: _Object = _Object()


_UNKNOWN = Metadata()
_object_decoder = msgspec.json.Decoder(_Object)
_event_decoder = msgspec.json.Decoder(_Event)
_TYPE_META, _RAW = 1, 2
"""Fields of an envelope."""
_KIND = 2
"""Field of its TypeMeta."""
_METADATA = 1
"""Field of every object and list."""
_NAME, _NAMESPACE, _UID, _RESOURCE_VERSION = 1, 3, 5, 6
"""Fields of an ObjectMeta."""
_LIST_RESOURCE_VERSION = 2
"""Field of a ListMeta."""
_EVENT_TYPE, _EVENT_OBJECT, _EVENT_RAW = 1, 2, 1
"""Fields of a WatchEvent, and of the RawExtension in it."""


def of_body(body: bytes | None, *, content_encoding: str = "") -> Metadata:
    try:
        if not body:
            return _UNKNOWN
        if content_encoding == "gzip":
            body = gzip.decompress(body)
        if body.startswith(MAGIC):
            return _of_envelope(body)
        return _object_decoder.decode(body).metadata
    except (msgspec.MsgspecError, ValueError, OSError, EOFError, zlib.error):
        return _UNKNOWN


def of_event(frame: bytes, *, is_protobuf: bool) -> tuple[str, Metadata]:
    """Return the type of a watch event and the metadata of its object."""
    try:
        if is_protobuf:
            return _of_protobuf_event(frame)
        event = _event_decoder.decode(frame)
    except (msgspec.MsgspecError, ValueError):
        return "", _UNKNOWN
    return event.type, event.object.metadata


def _of_protobuf_event(frame: bytes) -> tuple[str, Metadata]:
    event = read(frame[4:])
    envelope = read(event.get(_EVENT_OBJECT, b"")).get(_EVENT_RAW, b"")
    return event.get(_EVENT_TYPE, b"").decode(), _of_envelope(envelope)


def _of_envelope(data: bytes) -> Metadata:
    envelope = read(data.removeprefix(MAGIC))
    kind = read(envelope.get(_TYPE_META, b"")).get(_KIND, b"").decode()
    message = first(envelope.get(_RAW, b""), _METADATA)
    if kind == "Status":
        return _UNKNOWN
    meta = read(message)
    if kind.endswith("List"):
        return Metadata(resource_version=meta.get(_LIST_RESOURCE_VERSION, b"").decode())
    return Metadata(
        name=meta.get(_NAME, b"").decode(),
        namespace=meta.get(_NAMESPACE, b"").decode(),
        uid=meta.get(_UID, b"").decode(),
        resource_version=meta.get(_RESOURCE_VERSION, b"").decode(),
    )
