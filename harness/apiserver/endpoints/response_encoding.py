"""Encode objects and lists in the negotiated form: the object, a Table or metadata."""

import functools
from collections.abc import Callable, Iterable, Iterator

from harness.apiserver import printers
from harness.apiserver.codec import json_codec
from harness.apiserver.endpoints import negotiation
from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.storage import stored_objects


class Rendering:
    """Encodes objects of one resource for the response to one request."""

    def __init__(
        self,
        form: negotiation.Form,
        resource: resources.ResourceType,
        now: Callable[[], str],
    ) -> None:
        self._form, self._resource, self._now = form, resource, now
        self._shows_columns = True

    def one(self, stored: stored_objects.Stored) -> bytes:
        """Return a response's body with one object. Raises 406 if the view is of a list."""
        if not self._form.view:
            return stored.data
        if self._form.view == "PartialObjectMetadataList":
            raise negotiation.not_acceptable(
                "you requested PartialObjectMetadataList, but the requested object is not a list"
            )
        return self._viewed(stored)

    def event(self, stored: stored_objects.Stored) -> bytes:
        """Return the `object` of a watch event; only the first Table has column definitions."""
        if not self._form.view:
            return stored.data
        viewed = self._viewed(stored)
        self._shows_columns = False
        return viewed

    def bookmark(self, document: Document) -> bytes:
        """Return the `object` of a bookmark event, which has no content but its metadata."""
        if self._form.view.startswith("PartialObjectMetadata"):
            document = printers.partial(document)
        return json_codec.encode(document)

    def pieces(self, objects: list[stored_objects.Stored], meta: Document) -> Iterator[bytes]:
        """Return a lazy iterator over a list's encoding, one object at a time."""
        match self._form.view:
            case "":
                named = _named(f"{self._resource.kind}List", self._resource.api_version, meta)
                return _joined(named, "items", map(stored_objects.item, objects))
            case "Table":
                rows = map(functools.partial(self._row, now=self._now()), objects)
                return _joined(printers.table(self._resource, meta=meta), "rows", rows)
            case "PartialObjectMetadata":
                raise negotiation.not_acceptable(
                    "you requested PartialObjectMetadata, but the requested object is a list"
                )
        named = _named("PartialObjectMetadataList", "meta.k8s.io/v1", meta)
        return _joined(named, "items", map(_partial, objects))

    def _viewed(self, stored: stored_objects.Stored) -> bytes:
        if self._form.view != "Table":
            return _partial(stored)
        meta = {"resourceVersion": str(stored.resource_version)}
        table = printers.table(self._resource, meta=meta, with_columns=self._shows_columns)
        return b"".join(_joined(table, "rows", [self._row(stored, now=self._now())]))

    def _row(self, stored: stored_objects.Stored, *, now: str) -> bytes:
        include = self._form.include_object
        row = printers.row(self._resource, stored.document(), now=now, include=include)
        return json_codec.encode(row)


def _partial(stored: stored_objects.Stored) -> bytes:
    return json_codec.encode(printers.partial(stored.document()))


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
