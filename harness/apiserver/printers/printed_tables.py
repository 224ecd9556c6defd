"""The `Table` form of objects: column definitions and rows."""

import functools

from harness.apiserver.errors import status_errors
from harness.apiserver.printers import columns
from harness.apiserver.scheme import api_types, resources
from harness.apiserver.scheme.json_document import Document

_INCLUDES = ("", "None", "Metadata", "Object")


def include(text: str) -> str:
    """Return the `includeObject` option of a request, `Metadata` by default.

    Raises StatusError 400 if it is none of `None`, `Metadata`, `Object`.
    """
    if text not in _INCLUDES:
        raise status_errors.bad_request(f'unrecognized includeObject value: "{text}"')
    return text or "Metadata"


def table(
    resource: resources.ResourceType,
    *,
    meta: Document,
    version: str = "v1",
    with_columns: bool = True,
) -> Document:
    """Return a meta.k8s.io `Table` without `rows`, which the caller appends as the last key."""
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": meta,
        "columnDefinitions": _definitions(resource) if with_columns else None,
    }


def row(
    resource: resources.ResourceType,
    document: Document,
    *,
    now: str,
    version: str = "v1",
    include: str = "Metadata",
) -> Document:
    """Return an object as a row of a table; `include` is its `includeObject` option."""
    cells = [column.cell(document, now) for column in _columns(resource)]
    return {"cells": cells, **_object(document, version, include)}


def partial(document: Document, version: str = "v1") -> Document:
    """Return an object as `PartialObjectMetadata`."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": document["metadata"],
    }


def _object(document: Document, version: str, include: str) -> Document:
    match include:
        case "None":
            return {"object": None}
        case "Object":
            return {"object": document}
    return {"object": partial(document, version)}


def _columns(resource: resources.ResourceType) -> tuple[columns.Column, ...]:
    if resource.kind == "Event":
        return columns.COLUMNS["", "Event"]
    return columns.COLUMNS.get((resource.group, resource.kind), columns.PLAIN)


@functools.cache
def _definitions(resource: resources.ResourceType) -> list[Document]:
    return [
        {
            "name": column.name,
            "type": "string",
            "format": "name" if column.name == "Name" else "",
            "description": _description(column.described),
            "priority": column.priority,
        }
        for column in _columns(resource)
    ]


def _description(described: str) -> str:
    name, _, field = described.partition(" ")
    for prefix in ("io.k8s.api.", "io.k8s.apimachinery.pkg.apis."):
        if texts := api_types.descriptions().get(f"{prefix}{name}"):
            return texts.get(field, "")
    return described
