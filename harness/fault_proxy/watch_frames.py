"""The framings of a watch: JSON lines, and protobuf messages with their length before them.

A framing finds the end of the last whole event in what has arrived, and splits whole events.
"""

import re
from typing import Protocol

_LENGTH_BYTES = 4
_PROTOBUF = re.compile(r"application/vnd\.kubernetes\.protobuf\s*(;|$)")
_JSON = re.compile(r"application/json\s*(;|$)")


class Framing(Protocol):
    """How the events of a watch follow each other."""

    is_protobuf: bool

    def whole_bytes(self, data: bytes) -> int:
        """Return the size of the whole events at the start of the data."""

    def split(self, whole: bytes) -> list[bytes]:
        """Return the frames of whole events."""


class JsonLines:
    """One JSON document for each event, each with a line end."""

    is_protobuf = False

    def whole_bytes(self, data: bytes) -> int:
        """Return the size of the whole events at the start of the data."""
        return data.rfind(b"\n") + 1

    def split(self, whole: bytes) -> list[bytes]:
        return [line + b"\n" for line in whole.split(b"\n")[:-1]]


class ProtobufFrames:
    """A length of four bytes, big-endian, and a message for each event."""

    is_protobuf = True

    def whole_bytes(self, data: bytes) -> int:
        """Return the size of the whole events at the start of the data."""
        at = 0
        while (end := _end(data, at)) <= len(data):
            at = end
        return at

    def split(self, whole: bytes) -> list[bytes]:
        """Return the frames, each with its length."""
        frames, at = [], 0
        while at < len(whole):
            end = _end(whole, at)
            frames.append(whole[at:end])
            at = end
        return frames


class Opaque:
    """A framing that the proxy does not know: what arrives together counts as one event."""

    is_protobuf = False

    def whole_bytes(self, data: bytes) -> int:
        return len(data)

    def split(self, whole: bytes) -> list[bytes]:
        """Return the data."""
        return [whole]


def of_content_type(content_type: str) -> Framing:
    if _JSON.match(content_type):
        return JsonLines()
    return ProtobufFrames() if _PROTOBUF.match(content_type) else Opaque()


def with_length(message: bytes) -> bytes:
    return len(message).to_bytes(_LENGTH_BYTES, "big") + message


def _end(data: bytes, at: int) -> int:
    """Return where the frame that begins there ends; beyond the data if that is not known yet."""
    body = at + _LENGTH_BYTES
    return body + int.from_bytes(data[at:body], "big") if body <= len(data) else body
