"""Kubernetes' protobuf encoding: bodies, the `runtime.Unknown` envelope, lists, watch events.

`protobuf_decoder` and `protobuf_encoder` convert the messages themselves.
"""

import functools
from collections.abc import Iterable
from typing import NamedTuple

from harness.apiserver.codec import json_codec, protobuf_wire
from harness.apiserver.errors import status_errors
from harness.apiserver.scheme import api_types
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.serializer import (
    decoding,
    protobuf_decoder,
    protobuf_encoder,
)

MAGIC = b"k8s\x00"
_ENVELOPE = "Unknown"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_OBJECT_META, _LIST_META = f"{_META}ObjectMeta", f"{_META}ListMeta"
_CACHED_MAX = 8192
"""Number of messages in the cache."""
_CACHED_BYTES_MAX = 32 * 1024
"""Maximum size of the JSON of an object whose message is cached, in bytes."""


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
    if kind == "PartialObjectMetadata":
        _, meta = next(protobuf_wire.read(message, kind), (1, b""))
        return named | {"metadata": read(api_types.definition(_OBJECT_META), meta)}
    group, _, version = api_version.rpartition("/")
    try:
        type_of_kind = api_types.of_kind(group, version, kind)
    except KeyError as error:
        raise protobuf_wire.MalformedError(
            f"kind {kind} of {api_version} has no protobuf message"
        ) from error
    decoded: Document = decoding.read(type_of_kind, read(type_of_kind, message), decoding.Tally())
    return decoded | named


# ------------------------------------------------------------------ encoding


def encode(document: Document) -> bytes:
    """Return the envelope of any document of a known kind, including lists."""
    return enveloped(document["apiVersion"], document["kind"], _message(document))


def enveloped(api_version: str, kind: str, message: bytes) -> bytes:
    named = protobuf_wire.text(1, api_version) + protobuf_wire.text(2, kind)
    return (
        MAGIC
        + protobuf_wire.data(1, named)
        + protobuf_wire.data(2, message)
        + protobuf_wire.data(3, b"")
        + protobuf_wire.data(4, b"")
    )


def stored_message(kind: api_types.Type, data: bytes) -> bytes:
    """Return the message of an object from its JSON.

    Messages of small objects are cached, because most objects are sent more than once.
    """
    if len(data) > _CACHED_BYTES_MAX:
        return _stored_message(kind, data)
    return _cached_message(kind, data)


def list_message(meta: Document, items: Iterable[bytes]) -> bytes:
    listed = protobuf_encoder.write(api_types.definition(_LIST_META), meta)
    return b"".join(
        [protobuf_wire.data(1, listed), *(protobuf_wire.data(2, item) for item in items)]
    )


def event_frame(type_name: str, envelope: bytes) -> bytes:
    """Return one watch event: its length in four bytes and its message, which is not enveloped.

    The object in the event is `envelope`.
    """
    event = protobuf_wire.text(1, type_name) + protobuf_wire.data(
        2, protobuf_wire.data(1, envelope)
    )
    return len(event).to_bytes(4, "big") + event


def _stored_message(kind: api_types.Type, data: bytes) -> bytes:
    return protobuf_encoder.write(kind, json_codec.decode(data))


_cached_message = functools.lru_cache(_CACHED_MAX)(_stored_message)


def _message(document: Document) -> bytes:
    kind: str = document["kind"]
    if kind == "PartialObjectMetadata":
        return protobuf_wire.data(
            1, protobuf_encoder.write(api_types.definition(_OBJECT_META), document["metadata"])
        )
    if kind == "PartialObjectMetadataList":
        return _partial_list(document)
    group, _, version = document["apiVersion"].rpartition("/")
    return protobuf_encoder.write(api_types.of_kind(group, version, kind), document)


def _partial_list(document: Document) -> bytes:
    """Return the message of a PartialObjectMetadataList; in v1beta1, `items` is field 1."""
    items = [_message(item) for item in document["items"]]
    if document["apiVersion"].endswith("/v1"):
        return list_message(document["metadata"], items)
    meta = protobuf_encoder.write(api_types.definition(_LIST_META), document["metadata"])
    return b"".join([*(protobuf_wire.data(1, item) for item in items), protobuf_wire.data(2, meta)])


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
