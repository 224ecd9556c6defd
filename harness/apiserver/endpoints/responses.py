"""Responses: the result of every request except a watch, in JSON, and objects in a view.

A view is a Table or PartialObjectMetadata in place of the object, or aggregated discovery.
"""

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from harness.apiserver import json_codec, printers
from harness.apiserver.endpoints import request_info
from harness.apiserver.errors import status_errors
from harness.apiserver.json_codec import Document
from harness.apiserver.scheme import resources
from harness.apiserver.storage import stored_objects

JSON = "application/json"
PROTOBUF = "application/vnd.kubernetes.protobuf"
TABLE, METADATA, DISCOVERY = "Table", "PartialObjectMetadata", "APIGroupDiscoveryList"
_VIEWS = {
    ("", "", ""): "",
    (TABLE, "meta.k8s.io", "v1"): TABLE,
    (METADATA, "meta.k8s.io", "v1"): METADATA,
    (f"{METADATA}List", "meta.k8s.io", "v1"): METADATA,
    (DISCOVERY, "apidiscovery.k8s.io", "v2"): DISCOVERY,
}
_ANY = (JSON, "*/*", "application/*")


class Response(msgspec.Struct, frozen=True):
    """An HTTP response."""

    status: int
    body: bytes
    content_type: str = JSON
    retry_after_s: int = 0
    """`Retry-After` in seconds, 0 for none."""
    warnings: tuple[str, ...] = ()
    """Texts of `Warning` headers."""


def failure(error: status_errors.StatusError) -> Response:
    """Return the response to a failed request."""
    retry_after_s = (error.details or {}).get("retryAfterSeconds", 0)
    body = json_codec.encode(error.to_status())
    return Response(error.code, body, retry_after_s=retry_after_s)


def of_document(document: Any, status: int = 200, *, warnings: tuple[str, ...] = ()) -> Response:
    return Response(status, json_codec.encode(document), warnings=warnings)


@functools.lru_cache(512)
def preferred_view(accept: str) -> str:
    """Return the view that a client prefers, "" for the object. Raises 406 if it accepts none."""
    clauses = sorted(_clauses(accept or JSON), key=lambda clause: -clause[0])
    for _, media, named in clauses:
        if media in _ANY and named in _VIEWS:
            return _VIEWS[named]
    why = f"only the following media types are accepted: {JSON}"
    raise status_errors.StatusError(406, "NotAcceptable", why)


def _clauses(accept: str) -> Iterator[tuple[float, str, tuple[str, str, str]]]:
    """Yield the quality, the media range and the view of each clause."""
    for clause in accept.split(","):
        media, *rest = (part.strip() for part in clause.split(";"))
        parameters = dict(part.partition("=")[::2] for part in rest)
        try:
            quality = float(parameters.get("q", "1"))
        except ValueError:
            quality = 0.0
        named = (parameters.get("as", ""), parameters.get("g", ""), parameters.get("v", ""))
        yield quality, media.lower(), named


class View:
    """Encodes objects of one resource for the response to one request."""

    def __init__(
        self,
        request: request_info.Request,
        resource: resources.ResourceType,
        now: Callable[[], str],
    ) -> None:
        """Raises 406 if the client accepts no form that the server has."""
        self._view = preferred_view(request.headers.get("accept", ""))
        self._resource, self._now = resource, now
        self._include = request.query.get("includeObject", "")
        self._shows_columns = True

    def one(self, stored: stored_objects.Stored) -> bytes:
        """Return an object; of several Tables of one request only the first has columns."""
        if not self._view:
            return stored.data
        if self._view != TABLE:
            return _partial(stored)
        meta = {"resourceVersion": str(stored.resource_version)}
        table = printers.table(self._resource, meta=meta, with_columns=self._shows_columns)
        self._shows_columns = False
        return _joined(table, "rows", self._rows([stored]))

    def bookmark(self, document: Document) -> bytes:
        """Return the `object` of a bookmark event, which has no content but its metadata."""
        if self._view == METADATA:
            document = printers.partial(document)
        return json_codec.encode(document)

    def many(self, objects: list[stored_objects.Stored], meta: Document) -> bytes:
        """Return a list of objects."""
        if self._view == TABLE:
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


def _joined(document: Document, key: str, items: Iterable[bytes]) -> bytes:
    """Return the JSON of a document with a list of encoded items added as its last key."""
    start = json_codec.encode(document)[:-1]
    return b'%b,"%b":[%b]}' % (start, key.encode(), b",".join(items))
