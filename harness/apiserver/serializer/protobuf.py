"""Kubernetes' protobuf encoding of objects: the envelope around a message, which tells its kind, and lists, status and events in it.

The messages themselves are read by `protobuf_decoder` and written by `protobuf_encoder`, from the numbers of `protobuf_field_numbers`.
"""

import functools
from collections.abc import Iterable
from typing import NamedTuple

from harness.apiserver.codec import json_codec, protobuf_wire
from harness.apiserver.scheme import api_types
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.serializer import decoding, protobuf_decoder, protobuf_encoder

MAGIC = b"k8s\x00"
_ENVELOPE = "Unknown"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_OBJECT_META, _LIST_META = f"{_META}ObjectMeta", f"{_META}ListMeta"
_REMEMBERED_MAX = 8192
_REMEMBERED_BYTES_MAX = 32 * 1024


class Envelope(NamedTuple):
    """k8s.io/apimachinery/pkg/runtime.Unknown."""

    api_version: str
    kind: str
    message: bytes


def open_envelope(data: bytes) -> Envelope:
    """What an envelope says, and the message in it; wire.MalformedError for what is none."""
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
    """The fields 1 and 2 of a message, which are bytes."""
    found = {1: b"", 2: b""}
    for number, raw in protobuf_wire.read(message, name):
        if number in found:
            if type(raw) is not bytes:
                raise protobuf_wire.MalformedError(f"proto: wrong wireType = 0 for field {name}")
            found[number] = raw
    return found[1], found[2]


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")


def read(kind: api_types.Type, message: bytes) -> Document:
    """The object in a message of a kind; wire.MalformedError for what is none."""
    return protobuf_decoder.read(kind, message)


def document(data: bytes) -> Document:
    """What an envelope would be in JSON, an object or a list; wire.MalformedError for what is neither."""
    api_version, kind, message = open_envelope(data)
    named = {"kind": kind, "apiVersion": api_version}
    if kind == "PartialObjectMetadata":
        _, meta = next(protobuf_wire.read(message, kind), (1, b""))
        return named | {"metadata": read(api_types.definition(_OBJECT_META), meta)}
    group, _, version = api_version.rpartition("/")
    try:
        found = api_types.of_kind(group, version, kind)
    except KeyError as error:
        raise protobuf_wire.MalformedError(
            f"no message is known of {kind} in {api_version}"
        ) from error
    made: Document = decoding.read(found, read(found, message), decoding.Tally())
    return made | named


# ------------------------------------------------------------------ answers


def encode(document: Document) -> bytes:
    """An envelope around the message of any document of a known kind, a list included."""
    return enveloped(document["apiVersion"], document["kind"], _message(document))


def enveloped(api_version: str, kind: str, message: bytes) -> bytes:
    """An envelope around the message of an object."""
    named = protobuf_wire.text(1, api_version) + protobuf_wire.text(2, kind)
    return (
        MAGIC
        + protobuf_wire.data(1, named)
        + protobuf_wire.data(2, message)
        + protobuf_wire.data(3, b"")
        + protobuf_wire.data(4, b"")
    )


def stored_message(kind: api_types.Type, data: bytes) -> bytes:
    """The message of an object of which this is the JSON; of small ones the last are remembered, since most are sent more than once."""
    if len(data) > _REMEMBERED_BYTES_MAX:
        return _stored_message(kind, data)
    return _remembered_message(kind, data)


def list_message(meta: Document, items: Iterable[bytes]) -> bytes:
    """The message of a list with these messages in it."""
    listed = protobuf_encoder.write(api_types.definition(_LIST_META), meta)
    return b"".join(
        [protobuf_wire.data(1, listed), *(protobuf_wire.data(2, item) for item in items)]
    )


def event_frame(type_name: str, envelope: bytes) -> bytes:
    """One event of a watch: the length of a message without an envelope, and the message, in which the object has one."""
    event = protobuf_wire.text(1, type_name) + protobuf_wire.data(
        2, protobuf_wire.data(1, envelope)
    )
    return len(event).to_bytes(4, "big") + event


def _stored_message(kind: api_types.Type, data: bytes) -> bytes:
    return protobuf_encoder.write(kind, json_codec.decode(data))


_remembered_message = functools.lru_cache(_REMEMBERED_MAX)(_stored_message)


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
    """In v1beta1 the items come first, by their number."""
    items = [_message(item) for item in document["items"]]
    if document["apiVersion"].endswith("/v1"):
        return list_message(document["metadata"], items)
    meta = protobuf_encoder.write(api_types.definition(_LIST_META), document["metadata"])
    return b"".join([*(protobuf_wire.data(1, item) for item in items), protobuf_wire.data(2, meta)])
