"""Responses: the result of every request except a watch, in JSON, and objects in a view.

A view is PartialObjectMetadata in place of the object, aggregated discovery, or a Table, which
`kubectl get` prints: a few columns of a few kinds, Name and Age of all others.
"""

import datetime
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from harness.apiserver import json_codec
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
_PIECE_ITEMS = 32
"""Number of items of a list that are encoded at once; other requests are served in between."""
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
    pieces: Iterator[bytes] | None = None
    """The body of a long list, which is encoded while it is sent; `body` is empty then."""

    def whole(self) -> "Response":
        """Return the response with all pieces in its body."""
        body = b"".join(self.pieces or [self.body])
        return msgspec.structs.replace(self, body=body, pieces=None)


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
            return json_codec.encode(_partial(stored.document()))
        meta = {"resourceVersion": str(stored.resource_version)}
        table = _table(self._resource, meta, with_columns=self._shows_columns)
        self._shows_columns = False
        return b"".join(_joined(table, "rows", self._rows([stored])))

    def bookmark(self, document: Document) -> bytes:
        """Return the `object` of a bookmark event, which has no content but its metadata."""
        if self._view == METADATA:
            document = _partial(document)
        return json_codec.encode(document)

    def many(self, objects: list[stored_objects.Stored], meta: Document) -> Iterator[bytes]:
        """Return a list of objects, which is encoded piece by piece."""
        if self._view == TABLE:
            return _joined(_table(self._resource, meta), "rows", self._rows(objects))
        if self._view:
            named = _named(f"{METADATA}List", "meta.k8s.io/v1", meta)
            parts = (json_codec.encode(_partial(stored.document())) for stored in objects)
            return _joined(named, "items", parts)
        named = _named(f"{self._resource.kind}List", self._resource.api_version, meta)
        return _joined(named, "items", map(stored_objects.item, objects))

    def _rows(self, objects: Iterable[stored_objects.Stored]) -> Iterator[bytes]:
        now = self._now()
        for stored in objects:
            row = row_of(self._resource, stored.document(), now=now, include=self._include)
            yield json_codec.encode(row)


def _named(kind: str, api_version: str, meta: Document) -> Document:
    return {"kind": kind, "apiVersion": api_version, "metadata": meta}


def _joined(document: Document, key: str, items: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the JSON of a document with a list of encoded items added as its last key."""
    rest, separator = iter(items), b""
    yield b'%b,"%b":[' % (json_codec.encode(document)[:-1], key.encode())
    while some := b",".join(itertools.islice(rest, _PIECE_ITEMS)):
        yield separator + some
        separator = b","
    yield b"]}"


# ------------------------------------------------------------------ tables

Cell = Callable[[Document], Any]


def _table(
    resource: resources.ResourceType, meta: Document, *, with_columns: bool = True
) -> Document:
    """Return a meta.k8s.io `Table` without `rows`, which the caller appends as the last key."""
    names = ["Name", *_COLUMNS.get((resource.group, resource.kind), {}), "Age"]
    columns = [
        {
            "name": name,
            "type": "string",
            "format": "name" if name == "Name" else "",
            "description": "",
            "priority": 0,
        }
        for name in names
    ]
    named = _named(TABLE, "meta.k8s.io/v1", meta)
    return {**named, "columnDefinitions": columns if with_columns else None}


def row_of(
    resource: resources.ResourceType, document: Document, *, now: str, include: str = ""
) -> Document:
    """Return an object as a row of a table.

    `include`: the part of the object that the row has: `None`, `Object`, else its metadata.
    """
    meta = document["metadata"]
    columns = _COLUMNS.get((resource.group, resource.kind), {})
    cells = [cell(document) for cell in columns.values()]
    objects = {"None": None, "Object": document}
    age = _age(meta.get("creationTimestamp") or "", now)
    return {
        "cells": [meta["name"], *cells, age],
        "object": objects.get(include, _partial(document)),
    }


def _partial(document: Document) -> Document:
    """Return an object as `PartialObjectMetadata`."""
    return _named(METADATA, "meta.k8s.io/v1", document["metadata"])


def _age(since: str, now: str) -> str:
    if not since:
        return "<unknown>"
    elapsed = datetime.datetime.fromisoformat(now) - datetime.datetime.fromisoformat(since)
    seconds = int(elapsed.total_seconds())
    for unit, letter in ((86_400, "d"), (3600, "h"), (60, "m")):
        if seconds >= 2 * unit:
            return f"{seconds // unit}{letter}"
    return f"{max(seconds, 0)}s"


def _at(path: str) -> Cell:
    """Return a cell with the value at a dotted path, "" if there is none."""
    keys = path.split(".")

    def cell(document: Any) -> Any:
        for key in keys:
            document = document.get(key) if isinstance(document, dict) else None
        return document or ""

    return cell


def _pod_status(pod: Document) -> str:
    status = pod.get("status") or {}
    is_over = status.get("phase") in ("Succeeded", "Failed")
    if "deletionTimestamp" in pod["metadata"] and not is_over:
        return "Terminating"
    return status.get("reason") or status.get("phase") or "Unknown"


def _node_status(node: Document) -> str:
    conditions = (node.get("status") or {}).get("conditions") or ()
    ready = next((item.get("status") for item in conditions if item.get("type") == "Ready"), None)
    words = ["Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"]
    if (node.get("spec") or {}).get("unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def _claim_state(claim: Document) -> str:
    """Return the state of a ResourceClaim: `deleted,allocated,reserved` in part, or `pending`."""
    status = claim.get("status") or {}
    states = {
        "deleted": "deletionTimestamp" in claim["metadata"],
        "allocated": status.get("allocation") is not None,
        "reserved": bool(status.get("reservedFor")),
    }
    return ",".join(state for state, is_so in states.items() if is_so) or "pending"


_COLUMNS: dict[tuple[str, str], dict[str, Cell]] = {
    ("", "Pod"): {"Status": _pod_status, "Node": _at("spec.nodeName")},
    ("", "Node"): {"Status": _node_status, "Version": _at("status.nodeInfo.kubeletVersion")},
    ("resource.k8s.io", "ResourceClaim"): {"State": _claim_state},
    ("resource.k8s.io", "ResourceSlice"): {
        "Node": _at("spec.nodeName"),
        "Driver": _at("spec.driver"),
        "Pool": _at("spec.pool.name"),
    },
}
"""The columns between Name and Age, by (group, kind)."""
