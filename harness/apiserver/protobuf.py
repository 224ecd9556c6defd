"""Kubernetes' protobuf encoding of objects: the envelope around a message, which tells its kind, and lists, status and events in it.

The messages themselves are read by `protobuf_reading` and written by `protobuf_writing`, from the numbers of `protobuf_tables`.
"""

from typing import Any, NamedTuple

from harness.apiserver import protobuf_reading, protobuf_writing, schemas, wire

Document = dict[str, Any]
MAGIC = b"k8s\x00"
_ENVELOPE = "Unknown"


class Envelope(NamedTuple):
    """k8s.io/apimachinery/pkg/runtime.Unknown."""

    api_version: str
    kind: str
    message: bytes


def open_envelope(data: bytes) -> Envelope:
    """What an envelope says, and the message in it; wire.MalformedError for what is none."""
    if not data:
        raise wire.MalformedError("empty data")
    if not data.startswith(MAGIC):
        why = f"expected prefix [{' '.join(str(byte) for byte in MAGIC)}]"
        raise wire.MalformedError(f"provided data does not appear to be a protobuf message, {why}")
    if len(data) == len(MAGIC):
        raise wire.MalformedError("empty body")
    named, message = _two_parts(data[len(MAGIC) :], _ENVELOPE)
    api_version, kind = _two_parts(named, "TypeMeta")
    return Envelope(_text(api_version), _text(kind), message)


def _two_parts(message: bytes, name: str) -> tuple[bytes, bytes]:
    """The fields 1 and 2 of a message, which are bytes."""
    found = {1: b"", 2: b""}
    for number, raw in wire.read(message, name):
        if number in found:
            if type(raw) is not bytes:
                raise wire.MalformedError(f"proto: wrong wireType = 0 for field {name}")
            found[number] = raw
    return found[1], found[2]


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")


def read(kind: schemas.Type, message: bytes) -> Document:
    """The object in a message of a kind; wire.MalformedError for what is none."""
    return protobuf_reading.read(kind, message)


def encode(document: Document, message: bytes) -> bytes:
    """An envelope around the message of a document."""
    named = wire.text(1, document["apiVersion"]) + wire.text(2, document["kind"])
    return (
        MAGIC + wire.data(1, named) + wire.data(2, message) + wire.data(3, b"") + wire.data(4, b"")
    )


def encode_object(kind: schemas.Type, document: Document) -> bytes:
    """The message of an object."""
    return protobuf_writing.write(kind, document)


def encode_list(kind: schemas.Type, document: Document) -> bytes:
    """The message of a list of such objects."""
    meta = schemas.definition("io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta")
    items = [wire.data(2, encode_object(kind, item)) for item in document["items"]]
    return wire.data(1, encode_object(meta, document["metadata"])) + b"".join(items)
