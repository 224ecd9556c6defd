"""Responses: the result of every request except a watch, and objects in the form of a view."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from harness.apiserver import printers
from harness.apiserver.codec import json_codec
from harness.apiserver.endpoints import negotiation, request_info
from harness.apiserver.errors import status_errors
from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.storage import stored_objects


class Response(msgspec.Struct, frozen=True):
    """An HTTP response."""

    status: int
    body: bytes
    content_type: str = negotiation.JSON
    retry_after_s: int = 0
    """`Retry-After` in seconds, 0 for none."""
    warnings: tuple[str, ...] = ()
    """Texts of `Warning` headers."""
    pieces: Iterator[bytes] | None = None
    """The body of a long list, encoded while it is sent; `body` is empty if it is set."""

    def whole(self) -> "Response":
        """Return the response with all of its pieces in `body`."""
        if self.pieces is None:
            return self
        return msgspec.structs.replace(self, body=b"".join(self.pieces), pieces=None)


def failure(error: status_errors.StatusError) -> Response:
    """Return the response to a failed request."""
    retry_after_s = (error.details or {}).get("retryAfterSeconds", 0)
    body = json_codec.encode(error.to_status())
    return Response(error.code, body, retry_after_s=retry_after_s)


def of_document(document: Any, status: int = 200, *, warnings: tuple[str, ...] = ()) -> Response:
    return Response(status, json_codec.encode(document), warnings=warnings)


class View:
    """Encodes objects of one resource for the response to one request."""

    def __init__(
        self,
        request: request_info.Request,
        resource: resources.ResourceType,
        now: Callable[[], str],
    ) -> None:
        """Raises 406 if the client accepts no form that the server has."""
        self._view = negotiation.view(request.headers.get("accept", ""))
        self._resource, self._now = resource, now
        self._include = request.query.get("includeObject", "")
        self._shows_columns = True

    def one(self, stored: stored_objects.Stored) -> bytes:
        """Return an object; of several Tables of one request only the first has columns."""
        if not self._view:
            return stored.data
        if self._view != negotiation.TABLE:
            return _partial(stored)
        meta = {"resourceVersion": str(stored.resource_version)}
        table = printers.table(self._resource, meta=meta, with_columns=self._shows_columns)
        self._shows_columns = False
        return b"".join(_joined(table, "rows", self._rows([stored])))

    def bookmark(self, document: Document) -> bytes:
        """Return the `object` of a bookmark event, which has no content but its metadata."""
        if self._view == negotiation.METADATA:
            document = printers.partial(document)
        return json_codec.encode(document)

    def pieces(self, objects: list[stored_objects.Stored], meta: Document) -> Iterator[bytes]:
        """Return a lazy iterator over a list's encoding, one object at a time."""
        if self._view == negotiation.TABLE:
            return _joined(printers.table(self._resource, meta=meta), "rows", self._rows(objects))
        if self._view:
            named = _named("PartialObjectMetadataList", "meta.k8s.io/v1", meta)
            return _joined(named, "items", map(_partial, objects))
        named = _named(f"{self._resource.kind}List", self._resource.api_version, meta)
        return _joined(named, "items", map(stored_objects.item, objects))

    def _rows(self, objects: Iterable[stored_objects.Stored]) -> Iterator[bytes]:
        now = self._now()
        for stored in objects:
            row = printers.row(self._resource, stored.document(), now=now, include=self._include)
            yield json_codec.encode(row)


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
