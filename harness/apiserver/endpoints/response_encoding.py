"""Objects and lists in the form that a client accepts: as they are, as a table, or as their metadata alone; JSON, YAML or protobuf."""

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec
import yaml

from harness.apiserver.codec import json_codec
from harness.apiserver.endpoints import negotiation, request_info
from harness.apiserver.printers import printed_tables
from harness.apiserver.scheme import api_types, resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.serializer import protobuf
from harness.apiserver.storage import stored_objects

_TRUE = ("1", "true")
_PIECE_BYTES = 32 * 1024


class Rendering:
    """How the objects of one resource look to one client."""

    def __init__(
        self,
        request: request_info.Request,
        resource: resources.ResourceType,
        now: Callable[[], str],
        *,
        is_list: bool = False,
        is_watch: bool = False,
    ) -> None:
        """406 when the client accepts nothing that there is."""
        self._resource, self._now, self._is_watch = resource, now, is_watch
        accept = request.headers.get("accept", "")
        self.form = self._best(accept, is_list=is_list) if accept else negotiation.PLAIN
        self._include = printed_tables.include(request.query.get("includeObject", ""))
        self._is_pretty = request.query.get("pretty", "").lower() in _TRUE
        self._shows_columns = True

    @staticmethod
    def _best(accept: str, *, is_list: bool) -> negotiation.Form:
        """What the client likes best of what there is: tables are no messages."""
        for form in negotiation.forms(accept, is_list=is_list):
            if form.media != negotiation.PROTOBUF or form.view != "Table":
                return form
        raise negotiation.not_acceptable(
            "object *v1.Table does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message"
        )

    @property
    def content_type(self) -> str:
        """The media type of the bytes."""
        if not self._is_watch:
            return self.form.media
        return f"{negotiation.PROTOBUF};stream=watch" if self.is_protobuf else negotiation.JSON

    @property
    def is_protobuf(self) -> bool:
        """Whether the bytes are messages."""
        return self.form.media == negotiation.PROTOBUF

    def one(self, stored: stored_objects.Stored) -> bytes:
        """One object."""
        if not self.form.view:
            return self._enveloped(stored) if self.is_protobuf else self.encoded(stored.data)
        if self.form.view == "PartialObjectMetadataList":
            raise negotiation.not_acceptable(
                "you requested PartialObjectMetadataList, but the requested object is not a list"
            )
        return self.encoded(self._viewed(stored))

    def event(self, stored: stored_objects.Stored) -> bytes:
        """One object of a watch; a table tells its columns only once."""
        if not self.form.view:
            return self._enveloped(stored) if self.is_protobuf else stored.data
        viewed = self._viewed(stored)
        self._shows_columns = False
        return protobuf.encode(json_codec.decode(viewed)) if self.is_protobuf else viewed

    def bookmark(self, document: Document) -> bytes:
        """An object without content, in an event."""
        if self.form.view.startswith("PartialObjectMetadata"):
            document = printed_tables.partial(document, self.form.version)
        return self.event_of(document)

    def event_of(self, document: Document) -> bytes:
        """A document in an event: a status, or what stands for an object."""
        return protobuf.encode(document) if self.is_protobuf else json_codec.encode(document)

    def page(self, found: list[stored_objects.Stored], meta: Document) -> bytes:
        """A list of objects."""
        made = b"".join(self.pieces(found, meta))
        return made if self.has_pieces else self.encoded(made)

    @property
    def has_pieces(self) -> bool:
        """Whether the pieces of a list are what the client is to be sent."""
        if self.is_protobuf:
            return not self.form.view
        return self.form.media == negotiation.JSON and not self._is_pretty

    def pieces(self, found: list[stored_objects.Stored], meta: Document) -> Iterator[bytes]:
        """A list, an object a piece; each is made when it is asked for."""
        version = self.form.version
        match self.form.view:
            case "" if self.is_protobuf:
                return self._message_pieces(found, meta)
            case "":
                named = _named(f"{self._resource.kind}List", self._resource.api_version, meta)
                return _joined(named, "items", map(stored_objects.item, found))
            case "Table":
                rows = map(functools.partial(self._row, now=self._now()), found)
                return _joined(self._table(meta), "rows", rows)
            case "PartialObjectMetadata":
                raise negotiation.not_acceptable(
                    "you requested PartialObjectMetadata, but the requested object is a list"
                )
        named = _named("PartialObjectMetadataList", f"meta.k8s.io/{version}", meta)
        return _joined(named, "items", map(self._partial, found))

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
            include=self._include,
        )
        return json_codec.encode(row)

    def _enveloped(self, stored: stored_objects.Stored) -> bytes:
        resource = self._resource
        message = protobuf.stored_message(api_types.of(resource), stored.data)
        return protobuf.enveloped(resource.api_version, resource.kind, message)

    def _message_pieces(
        self, found: list[stored_objects.Stored], meta: Document
    ) -> Iterator[bytes]:
        """A list in an envelope, which begins with its length: nothing comes before all is made."""
        resource = self._resource
        kind = api_types.of(resource)
        items = []
        for stored in found:
            items.append(protobuf.stored_message(kind, stored.data))
            yield b""
        message = protobuf.list_message(meta, items)
        whole = protobuf.enveloped(resource.api_version, f"{resource.kind}List", message)
        for at in range(0, len(whole), _PIECE_BYTES):
            yield whole[at : at + _PIECE_BYTES]

    def encoded(self, answer: bytes | Document) -> bytes:
        """A document, or its JSON, in the media type that was agreed on."""
        return in_media(self.form.media, answer, is_pretty=self._is_pretty)


YAML_BYTES_MAX = 32 * 1024
"""A larger answer in YAML is in its flow style, which is JSON: the block style takes Python twenty times longer."""


def in_media(media: str, answer: bytes | Document, *, is_pretty: bool = False) -> bytes:
    """A document, or its JSON, in a media type."""
    data = answer if isinstance(answer, bytes) else json_codec.encode(answer)
    if media == negotiation.PROTOBUF:
        return protobuf.encode(json_codec.decode(data))
    if media == negotiation.YAML:
        return data + b"\n" if len(data) > YAML_BYTES_MAX else to_yaml(json_codec.decode(data))
    return msgspec.json.format(data, indent=2) if is_pretty else data


def _named(kind: str, api_version: str, meta: Document) -> Document:
    return {"kind": kind, "apiVersion": api_version, "metadata": meta}


def _joined(document: Document, key: str, items: Iterable[bytes]) -> Iterator[bytes]:
    """The document with one more key, the last one, which is a list of these."""
    yield b'%b,"%b":[' % (json_codec.encode(document)[:-1], key.encode())
    separator = b""
    for item in items:
        yield separator + item
        separator = b","
    yield b"]}"


def to_yaml(document: Any) -> bytes:
    """A document as YAML."""
    return yaml.dump(document, Dumper=_dumper(), encoding="utf-8", allow_unicode=True)


@functools.cache
def _dumper() -> type[yaml.SafeDumper]:
    class Dumper(yaml.SafeDumper):
        """Without anchors: what is the same twice is written twice."""

        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
            return True

    return Dumper
