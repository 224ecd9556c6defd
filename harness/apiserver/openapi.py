"""OpenAPI documents of what is served, made from Kubernetes' own definitions: version 3 by group version, version 2 as one document.

They name the kinds with all their fields and descriptions (`kubectl explain`), and of the operations what clients look for:
that there is one, of which kind, and that the server validates fields itself.
"""

import functools
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from harness.apiserver import discovery, openapi_protobuf, resources, schemas, storing

Document = dict[str, Any]
_V3_PREFIX, _V2_PREFIX = "#/components/schemas/", "#/definitions/"
_PARAMETERS: list[Document] = [
    {
        "name": "fieldValidation",
        "in": "query",
        "description": "Whether unknown and duplicate fields are refused (Strict), warned of (Warn) or ignored (Ignore).",
        "schema": {"type": "string", "uniqueItems": True},
    },
    {
        "name": "dryRun",
        "in": "query",
        "description": "All: nothing is stored.",
        "schema": {"type": "string", "uniqueItems": True},
    },
]
_PARAMETERS_2 = [
    {**{key: value for key, value in node.items() if key != "schema"}, **node["schema"]}
    for node in _PARAMETERS
]


def index() -> bytes:
    """Where the documents are; an address changes with its document."""
    roots = [_root(group, version) for group, version in resources.group_versions()]
    paths = {
        root: {"serverRelativeURL": f"/openapi/v3/{root}?hash={_hash(root)}"} for root in roots
    }
    return storing.encode({"paths": paths})


@functools.lru_cache(64)
def document(root: str) -> bytes | None:
    """The document of one group version, None when it is not served."""
    for group, version in resources.group_versions():
        if _root(group, version) == root:
            found = discovery.served(group, version)
            return storing.encode(
                {
                    "openapi": "3.0.0",
                    "info": _info(),
                    "paths": dict(
                        path for item in found for path in _paths(root, item, _PARAMETERS)
                    ),
                    "components": {"schemas": _schemas(_names(found), _V3_PREFIX)},
                }
            )
    return None


@functools.cache
def document_2(*, as_protobuf: bool = False) -> bytes:
    """All definitions as one document of version 2."""
    paths = {
        path: operations
        for item in resources.ALL
        for path, operations in _paths(_root(item.group, item.version), item, _PARAMETERS_2)
    }
    definitions = _schemas(_names(resources.ALL), _V2_PREFIX)
    made = {"swagger": "2.0", "info": _info(), "paths": paths, "definitions": definitions}
    return openapi_protobuf.encode(made) if as_protobuf else storing.encode(made)


def _root(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


@functools.cache
def _hash(root: str) -> str:
    return hashlib.sha256(schemas.fingerprint() + root.encode()).hexdigest().upper()


def _info() -> Document:
    return {"title": "Kubernetes", "version": discovery.VERSION["gitVersion"]}


# ------------------------------------------------------------------ definitions


def _names(found: Iterable[resources.ResourceType]) -> list[str]:
    """The definitions of these resources, and all that they refer to."""
    waiting = [schemas.of(item).name for item in found]
    known: dict[str, None] = {}
    while waiting:
        name = waiting.pop()
        if name not in known:
            known[name] = None
            waiting += _references(schemas.raw()[name])
    return sorted(known)


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, Mapping):
        if isinstance(reference := node.get("$ref"), str):
            yield reference
        for child in node.values():
            yield from _references(child)
    elif isinstance(node, list):
        for child in node:
            yield from _references(child)


def _schemas(names: list[str], prefix: str) -> Document:
    return {name: _schema(name, prefix) for name in names}


def _schema(name: str, prefix: str) -> Document:
    texts = schemas.descriptions().get(name, {})
    node: Document = _published(schemas.raw()[name], prefix)
    for field, child in node.get("properties", {}).items():
        if field in texts:
            child["description"] = texts[field]
    return ({"description": texts[""]} if "" in texts else {}) | node


def _published(node: Any, prefix: str) -> Any:
    """A definition as it is published: without our own marks, and with references that lead somewhere."""
    if isinstance(node, list):
        return [_published(child, prefix) for child in node]
    if not isinstance(node, Mapping):
        return node
    if isinstance(node.get("$ref"), str):
        reference = {"$ref": prefix + node["$ref"]}
        rest = {key: value for key, value in node.items() if not key.startswith(("$ref", "x-go"))}
        return {"allOf": [reference], **rest} if prefix == _V3_PREFIX else reference | rest
    return {
        key: _published(value, prefix) for key, value in node.items() if not key.startswith("x-go")
    }


# ------------------------------------------------------------------ operations


def _paths(
    root: str, item: resources.ResourceType, parameters: list[Document]
) -> Iterator[tuple[str, Document]]:
    space = "/namespaces/{namespace}" if item.namespaced else ""
    collection = f"/{root}{space}/{item.plural}"
    yield collection, _operations(item, {"get": "list", "post": "create"}, parameters)
    if item.is_stored:
        actions = {"get": "get", "put": "update", "patch": "patch", "delete": "delete"}
        yield f"{collection}/{{name}}", _operations(item, actions, parameters)


def _operations(
    item: resources.ResourceType, actions: Mapping[str, str], parameters: list[Document]
) -> Document:
    kind = {"group": item.group, "version": item.version, "kind": item.kind}
    return {
        method: {
            "operationId": f"{verb}{item.version.capitalize()}{item.kind}",
            **({"parameters": parameters} if method != "get" else {}),
            "responses": {"200": {"description": "OK"}},
            "x-kubernetes-action": "post" if verb == "create" else verb,
            "x-kubernetes-group-version-kind": kind,
        }
        for method, verb in actions.items()
        if verb in item.verbs
    }
