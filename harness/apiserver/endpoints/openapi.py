"""OpenAPI documents of what is served, made from Kubernetes' own definitions: version 3 by group version, version 2 as one document.

They name the kinds with all their fields and descriptions (`kubectl explain`), and of the operations what clients look for:
that there is one, of which kind, and that the server validates fields itself.
"""

import functools
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from harness.apiserver.codec import json_codec
from harness.apiserver.endpoints import discovery, openapi_protobuf
from harness.apiserver.scheme import api_types, resources
from harness.apiserver.scheme.json_document import Document

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

_ON_ALL = {"get": "list"}
_ON_COLLECTIONS = {"get": "list", "post": "create", "delete": "deletecollection"}
_ON_OBJECTS = {"get": "get", "put": "update", "patch": "patch", "delete": "delete"}
_ON_PARTS = {**_ON_OBJECTS, "post": "create"}
_VERBS = {"get": "read", "update": "replace", "deletecollection": "delete"}
_COLLECTION = {"deletecollection": "Collection"}
_ACTIONS = {"create": "post", "update": "put"}


def index() -> bytes:
    """Where the documents are; an address changes with its document."""
    roots = [_root(group, version) for group, version in resources.group_versions()]
    paths = {
        root: {"serverRelativeURL": f"/openapi/v3/{root}?hash={_hash(root)}"} for root in roots
    }
    return json_codec.encode({"paths": paths})


@functools.lru_cache(64)
def document(root: str) -> bytes | None:
    """The document of one group version, None when it is not served."""
    for group, version in resources.group_versions():
        if _root(group, version) == root:
            found = discovery.served(group, version)
            return json_codec.encode(
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
    return openapi_protobuf.encode(made) if as_protobuf else json_codec.encode(made)


def _root(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


@functools.cache
def _hash(root: str) -> str:
    return hashlib.sha256(api_types.fingerprint() + root.encode()).hexdigest().upper()


def _info() -> Document:
    return {"title": "Kubernetes", "version": discovery.VERSION["gitVersion"]}


# ------------------------------------------------------------------ definitions


def _names(found: Iterable[resources.ResourceType]) -> list[str]:
    """The definitions of these resources, and all that they refer to."""
    waiting = [kind.name for item in found for kind in _kinds(item)]
    known: dict[str, None] = {}
    while waiting:
        name = waiting.pop()
        if name not in known:
            known[name] = None
            waiting += _references(api_types.raw()[name])
    return sorted(known)


def _kinds(item: resources.ResourceType) -> Iterator[api_types.Type]:
    """What the requests of a resource carry, and what lists of it are."""
    yield api_types.of(item)
    if "list" in item.verbs:
        yield api_types.of_kind(item.group, item.version, f"{item.kind}List")
    for name in item.subresources:
        carried = resources.carried_by(item, name)
        if not carried.kind.endswith("Options"):
            yield api_types.of(carried)


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
    texts = api_types.descriptions().get(name, {})
    node: Document = _published(api_types.raw()[name], prefix)
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
    """The operations of every path of a resource."""
    space, scope = ("/namespaces/{namespace}", "Namespaced") if item.namespaced else ("", "")
    made = functools.partial(_operations, item, parameters=parameters)
    collection, name = f"/{root}{space}/{item.plural}", f"{scope}{item.kind}"
    yield collection, made(_ON_COLLECTIONS, name)
    if item.namespaced and "list" in item.verbs:
        yield f"/{root}/{item.plural}", made(_ON_ALL, f"{item.kind}ForAllNamespaces")
    if item.is_stored:
        yield f"{collection}/{{name}}", made(_ON_OBJECTS, name)
    for part in item.subresources:
        path = f"{collection}/{{name}}/{part}"
        yield path, made(_ON_PARTS, f"{name}{part.capitalize()}", part=part)


def _operations(
    item: resources.ResourceType,
    methods: Mapping[str, str],
    name: str,
    *,
    parameters: list[Document],
    part: str = "",
) -> Document:
    """What the methods of one path of a resource do, or of a part of it."""
    carried = resources.carried_by(item, part) if part else item
    verbs = item.subresource(part).verbs if part else item.verbs
    connects = carried.kind.endswith("Options")
    return {
        method: {
            "operationId": f"{_VERBS.get(verb, verb)}{_api(item)}{_COLLECTION.get(verb, '')}{name}",
            **({"parameters": parameters} if method != "get" else {}),
            "responses": {"200": {"description": "OK"}},
            "x-kubernetes-action": "connect" if connects else _ACTIONS.get(verb, verb),
            "x-kubernetes-group-version-kind": {
                "group": carried.group,
                "version": carried.version,
                "kind": carried.kind,
            },
        }
        for method, verb in methods.items()
        if verb in verbs
    }


def _api(item: resources.ResourceType) -> str:
    """Group and version as names of operations have them: `CoreV1`, `RbacAuthorizationV1`."""
    parts = (item.group or "core").removesuffix(".k8s.io").split(".")
    return "".join(part.capitalize() for part in (*parts, item.version))
