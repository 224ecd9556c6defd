"""Bodies in Kubernetes' protobuf encoding: the `runtime.Unknown` envelope and its message.

Responses are never in protobuf. `protobuf_decoder` reads the messages themselves.
"""

from typing import NamedTuple

from harness.apiserver.codec import protobuf_wire
from harness.apiserver.errors import status_errors
from harness.apiserver.scheme import api_types
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.serializer import (
    decoding,
    protobuf_decoder,
)

MAGIC = b"k8s\x00"
_ENVELOPE = "Unknown"


class Envelope(NamedTuple):
    """The fields of `k8s.io/apimachinery/pkg/runtime.Unknown`."""

    api_version: str
    kind: str
    message: bytes


def open_envelope(data: bytes) -> Envelope:
    """Return the content of an envelope. Raises protobuf_wire.MalformedError if it is malformed."""
    if not data:
        raise protobuf_wire.MalformedError("empty data")
    if not data.startswith(MAGIC):
        why = f"expected prefix [{' '.join(str(byte) for byte in MAGIC)}]"
        raise protobuf_wire.MalformedError(
            f"provided data does not appear to be a protobuf message, {why}"
        )
    if len(data) == len(MAGIC):
        raise protobuf_wire.MalformedError("empty body")
    named, message = _two_parts(data[len(MAGIC) :], _ENVELOPE)
    api_version, kind = _two_parts(named, "TypeMeta")
    return Envelope(_text(api_version), _text(kind), message)


def _two_parts(message: bytes, name: str) -> tuple[bytes, bytes]:
    """Return the fields 1 and 2 of a message, which are bytes."""
    parts = {1: b"", 2: b""}
    for number, raw in protobuf_wire.read(message, name):
        if number in parts:
            if type(raw) is not bytes:
                raise protobuf_wire.MalformedError(f"proto: wrong wireType = 0 for field {name}")
            parts[number] = raw
    return parts[1], parts[2]


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")


def read(kind: api_types.Type, message: bytes) -> Document:
    """Return the object in a message of a type. Raises protobuf_wire.MalformedError."""
    return protobuf_decoder.read(kind, message)


def document(data: bytes) -> Document:
    """Return the object or list in an envelope as it is in JSON.

    Raises protobuf_wire.MalformedError if it is malformed or its kind is unknown.
    """
    api_version, kind, message = open_envelope(data)
    named = {"kind": kind, "apiVersion": api_version}
    group, _, version = api_version.rpartition("/")
    try:
        type_of_kind = api_types.of_kind(group, version, kind)
    except KeyError as error:
        raise protobuf_wire.MalformedError(
            f"kind {kind} of {api_version} has no protobuf message"
        ) from error
    decoded: Document = decoding.read(type_of_kind, read(type_of_kind, message), decoding.Tally())
    return decoded | named


def read_body(body: bytes, *, api_version: str, expected: str) -> Document:
    """Return the object in a protobuf envelope as it is in JSON.

    Type fields that the envelope leaves empty default to `api_version` and `expected`. Raises 400
    if the body cannot be decoded.
    """
    try:
        envelope = open_envelope(body)
        kind = envelope.kind or expected
        group, _, version = (envelope.api_version or api_version).rpartition("/")
        document = read(api_types.of_kind(group, version, kind), envelope.message)
    except (protobuf_wire.MalformedError, KeyError) as error:
        raise status_errors.bad_request(f"the body is not a {expected}: {error}") from error
    return {"kind": kind, "apiVersion": envelope.api_version or api_version, **document}
