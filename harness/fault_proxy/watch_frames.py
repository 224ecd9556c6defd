"""The framings of a watch: JSON lines, and protobuf messages with their length before them.

A framing finds the ends of whole events in what has arrived, and reads and writes single ones.
"""

import re
from typing import Any

import msgspec

from harness import protobuf_wire
from harness.faults import object_metadata

_LENGTH_BYTES = 4
_LINE_END = re.compile(b"\n")
_PROTOBUF = re.compile(r"application/vnd\.kubernetes\.protobuf\s*(;|$)")
_JSON = re.compile(r"application/json\s*(;|$)")
_TYPE, _OBJECT, _RAW = 1, 2, 1
"""Fields of a WatchEvent, and of the RawExtension in it."""


class _Object(msgspec.Struct, frozen=True):
    metadata: object_metadata.Metadata = object_metadata.UNKNOWN


class _Event(msgspec.Struct, frozen=True):
    type: str = ""
    object: _Object = _Object()


_event_decoder = msgspec.json.Decoder(_Event)


class Framing:
    """A framing that the proxy does not know: what arrives together counts as one event."""

    def ends(self, data: bytes) -> list[int]:
        """Return where the whole events at the start of the data end."""
        return [len(data)]

    def read(self, frame: bytes) -> tuple[str, object_metadata.Metadata]:
        """Return the type of an event and the metadata of its object, empty if unknown."""
        try:
            event = _event_decoder.decode(frame)
        except (msgspec.MsgspecError, ValueError):
            return "", object_metadata.UNKNOWN
        return event.type, event.object.metadata

    def error(self, status: dict[str, Any]) -> bytes:
        return msgspec.json.encode({"type": "ERROR", "object": status}) + b"\n"


class JsonLines(Framing):
    """One JSON document for each event, each with a line end."""

    def ends(self, data: bytes) -> list[int]:
        return [found.end() for found in _LINE_END.finditer(data)]


class ProtobufFrames(Framing):
    """A length of four bytes, big-endian, and a message for each event."""

    def ends(self, data: bytes) -> list[int]:
        found, body = [], _LENGTH_BYTES
        while body <= len(data):
            end = body + int.from_bytes(data[body - _LENGTH_BYTES : body], "big")
            if end > len(data):
                break
            found.append(end)
            body = end + _LENGTH_BYTES
        return found

    def read(self, frame: bytes) -> tuple[str, object_metadata.Metadata]:
        try:
            event = protobuf_wire.parts(frame[_LENGTH_BYTES:])
            envelope = protobuf_wire.first(event.get(_OBJECT, b""), _RAW)
            return event.get(_TYPE, b"").decode(), object_metadata.of_envelope(envelope)
        except ValueError:
            return "", object_metadata.UNKNOWN

    def error(self, status: dict[str, Any]) -> bytes:
        field = protobuf_wire.field
        message = (
            field(1, b"")  # metadata
            + field(2, status["status"])
            + field(3, status["message"])
            + field(4, status["reason"])
            + field(6, status["code"])
        )
        envelope = object_metadata.envelope(status["apiVersion"], status["kind"], message)
        return with_length(field(_TYPE, "ERROR") + field(_OBJECT, field(_RAW, envelope)))


def of_content_type(content_type: str) -> Framing:
    if _JSON.match(content_type):
        return JsonLines()
    return ProtobufFrames() if _PROTOBUF.match(content_type) else Framing()


def with_length(message: bytes) -> bytes:
    return len(message).to_bytes(_LENGTH_BYTES, "big") + message
