"""Encode objects and lists in the negotiated form: media type, and object, Table or metadata."""

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec
import yaml

from harness.apiserver.codec import json_codec
from harness.apiserver.endpoints import negotiation
from harness.apiserver.printers import printed_tables
from harness.apiserver.scheme import api_types, resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.serializer import protobuf
from harness.apiserver.storage import stored_objects

_PIECE_BYTES = 32 * 1024
"""Size of the pieces in which a protobuf list is sent."""


class Rendering:
    """Encodes objects of one resource for the response to one request."""

    def __init__(
        self,
        form: negotiation.Form,
        resource: resources.ResourceType,
        now: Callable[[], str],
    ) -> None:
        self.form, self._resource, self._now = form, resource, now
        self._shows_columns = True

    @property
    def stream_type(self) -> str:
        return f"{negotiation.PROTOBUF};stream=watch" if self.is_protobuf else negotiation.JSON

    @property
    def is_protobuf(self) -> bool:
        """True if objects are encoded as protobuf messages."""
        return self.form.media == negotiation.PROTOBUF

    def one(self, stored: stored_objects.Stored) -> bytes:
        """Return a response's body with one object. Raises 406 if the view is of a list."""
        if not self.form.view:
            return self._enveloped(stored) if self.is_protobuf else self.encoded(stored.data)
        if self.form.view == "PartialObjectMetadataList":
            raise negotiation.not_acceptable(
                "you requested PartialObjectMetadataList, but the requested object is not a list"
            )
        return self.encoded(self._viewed(stored))

    def event(self, stored: stored_objects.Stored) -> bytes:
        """Return the `object` of a watch event; only the first Table has column definitions."""
        if not self.form.view:
            return self._enveloped(stored) if self.is_protobuf else stored.data
        viewed = self._viewed(stored)
        self._shows_columns = False
        return protobuf.encode(json_codec.decode(viewed)) if self.is_protobuf else viewed

    def bookmark(self, document: Document) -> bytes:
        """Return the `object` of a bookmark event, which has no content but its metadata."""
        if self.form.view.startswith("PartialObjectMetadata"):
            document = printed_tables.partial(document, self.form.version)
        return self.event_of(document)

    def event_of(self, document: Document) -> bytes:
        """Return the `object` of a watch event from a document, such as a Status."""
        return protobuf.encode(document) if self.is_protobuf else json_codec.encode(document)

    def page(self, objects: list[stored_objects.Stored], meta: Document) -> bytes:
        """Return a response's body with a list of objects and the list's `metadata`."""
        body = b"".join(self.pieces(objects, meta))
        return body if self.has_pieces else self.encoded(body)

    @property
    def has_pieces(self) -> bool:
        """True if `pieces` yields the negotiated form; false if only `page` does."""
        if self.is_protobuf:
            return not self.form.view
        return self.form.media == negotiation.JSON and not self.form.is_pretty

    def pieces(self, objects: list[stored_objects.Stored], meta: Document) -> Iterator[bytes]:
        """Return a lazy iterator over a list's encoding, one object at a time."""
        version = self.form.version
        match self.form.view:
            case "" if self.is_protobuf:
                return self._message_pieces(objects, meta)
            case "":
                named = _named(f"{self._resource.kind}List", self._resource.api_version, meta)
                return _joined(named, "items", map(stored_objects.item, objects))
            case "Table":
                rows = map(functools.partial(self._row, now=self._now()), objects)
                return _joined(self._table(meta), "rows", rows)
            case "PartialObjectMetadata":
                raise negotiation.not_acceptable(
                    "you requested PartialObjectMetadata, but the requested object is a list"
                )
        named = _named("PartialObjectMetadataList", f"meta.k8s.io/{version}", meta)
        return _joined(named, "items", map(self._partial, objects))

    def _viewed(self, stored: stored_objects.Stored) -> bytes:
        if self.form.view != "Table":
            return self._partial(stored)
        meta = {"resourceVersion": str(stored.resource_version)}
        return b"".join(_joined(self._table(meta), "rows", [self._row(stored, now=self._now())]))

    def _partial(self, stored: stored_objects.Stored) -> bytes:
        return json_codec.encode(printed_tables.partial(stored.document(), self.form.version))

    def _table(self, meta: Document) -> Document:
        version = self.form.version
        return printed_tables.table(
            self._resource, meta=meta, version=version, with_columns=self._shows_columns
        )

    def _row(self, stored: stored_objects.Stored, *, now: str) -> bytes:
        row = printed_tables.row(
            self._resource,
            stored.document(),
            now=now,
            version=self.form.version,
            include=self.form.include_object,
        )
        return json_codec.encode(row)

    def _enveloped(self, stored: stored_objects.Stored) -> bytes:
        resource = self._resource
        message = protobuf.stored_message(api_types.of(resource), stored.data)
        return protobuf.enveloped(resource.api_version, resource.kind, message)

    def _message_pieces(
        self, objects: list[stored_objects.Stored], meta: Document
    ) -> Iterator[bytes]:
        """Yield a list's protobuf envelope.

        The envelope begins with its length, so b"" is yielded for each object until all are
        encoded: the caller can serve other requests in between.
        """
        resource = self._resource
        kind = api_types.of(resource)
        items = []
        for stored in objects:
            items.append(protobuf.stored_message(kind, stored.data))
            yield b""
        message = protobuf.list_message(meta, items)
        whole = protobuf.enveloped(resource.api_version, f"{resource.kind}List", message)
        for at in range(0, len(whole), _PIECE_BYTES):
            yield whole[at : at + _PIECE_BYTES]

    def encoded(self, answer: bytes | Document) -> bytes:
        """Return a document, or its JSON, in the negotiated media type."""
        return in_media(self.form.media, answer, is_pretty=self.form.is_pretty)


YAML_BYTES_MAX = 32 * 1024
"""Size of a body's JSON in bytes above which YAML is written in flow style, which is JSON.

The block style takes Python twenty times longer.
"""


def in_media(media: str, answer: bytes | Document, *, is_pretty: bool = False) -> bytes:
    data = answer if isinstance(answer, bytes) else json_codec.encode(answer)
    if media == negotiation.PROTOBUF:
        return protobuf.encode(json_codec.decode(data))
    if media == negotiation.YAML:
        return data + b"\n" if len(data) > YAML_BYTES_MAX else to_yaml(json_codec.decode(data))
    return msgspec.json.format(data, indent=2) if is_pretty else data


def _named(kind: str, api_version: str, meta: Document) -> Document:
    return {"kind": kind, "apiVersion": api_version, "metadata": meta}


def _joined(document: Document, key: str, items: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the JSON of a document with a list of encoded items added as its last key."""
    yield b'%b,"%b":[' % (json_codec.encode(document)[:-1], key.encode())
    separator = b""
    for item in items:
        yield separator + item
        separator = b","
    yield b"]}"


def to_yaml(document: Any) -> bytes:
    return yaml.dump(document, Dumper=_dumper(), encoding="utf-8", allow_unicode=True)


@functools.cache
def _dumper() -> type[yaml.SafeDumper]:
    class Dumper(yaml.SafeDumper):
        """Writes repeated values in full instead of as anchors and aliases."""

        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
            return True

    return Dumper
