"""OpenAPI documents of the served resources: version 3 per group version, version 2 as a whole.

The schemas are Kubernetes' own definitions, with all fields and descriptions (`kubectl explain`).
Operations are reduced to the parts that clients look for: their existence, their kind, and the
`fieldValidation` parameter, which shows that the server validates fields.
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
        "description": "How to treat unknown and duplicate fields: Strict rejects them, "
        "Warn returns warnings, Ignore drops them silently.",
        "schema": {"type": "string", "uniqueItems": True},
    },
    {
        "name": "dryRun",
        "in": "query",
        "description": "With All, nothing is stored.",
        "schema": {"type": "string", "uniqueItems": True},
    },
]
_PARAMETERS_2 = [
    {**{key: value for key, value in node.items() if key != "schema"}, **node["schema"]}
    for node in _PARAMETERS
]

_ACROSS_NAMESPACES_VERBS = {"get": "list"}
_COLLECTION_VERBS = {"get": "list", "post": "create", "delete": "deletecollection"}
_OBJECT_VERBS = {"get": "get", "put": "update", "patch": "patch", "delete": "delete"}
_SUBRESOURCE_VERBS = {**_OBJECT_VERBS, "post": "create"}
_OPERATION_PREFIXES = {"get": "read", "update": "replace", "deletecollection": "delete"}
"""The verb in an `operationId`, where it differs from the API's verb."""
_OPERATION_INFIXES = {"deletecollection": "Collection"}
_ACTIONS = {"create": "post", "update": "put"}
"""The `x-kubernetes-action` of a verb, where it differs from the API's verb."""


def index() -> bytes:
    """Return the index of the version 3 documents; their URLs contain a hash of their content."""
    roots = [_root(group, version) for group, version in resources.group_versions()]
    paths = {
        root: {"serverRelativeURL": f"/openapi/v3/{root}?hash={_hash(root)}"} for root in roots
    }
    return json_codec.encode({"paths": paths})


@functools.lru_cache(64)
def document(root: str) -> bytes | None:
    """Return the version 3 document of one group version, None if it is not served."""
    for group, version in resources.group_versions():
        if _root(group, version) == root:
            items = discovery.served(group, version)
            return json_codec.encode(
                {
                    "openapi": "3.0.0",
                    "info": _info(),
                    "paths": dict(
                        path for item in items for path in _paths(root, item, _PARAMETERS)
                    ),
                    "components": {"schemas": _schemas(_names(items), _V3_PREFIX)},
                }
            )
    return None


@functools.cache
def document_2(*, as_protobuf: bool = False) -> bytes:
    """Return the version 2 document, which covers all served resources."""
    paths = {
        path: operations
        for item in resources.ALL
        for path, operations in _paths(_root(item.group, item.version), item, _PARAMETERS_2)
    }
    definitions = _schemas(_names(resources.ALL), _V2_PREFIX)
    whole = {"swagger": "2.0", "info": _info(), "paths": paths, "definitions": definitions}
    return openapi_protobuf.encode(whole) if as_protobuf else json_codec.encode(whole)


def _root(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


@functools.cache
def _hash(root: str) -> str:
    return hashlib.sha256(api_types.fingerprint() + root.encode()).hexdigest().upper()


def _info() -> Document:
    return {"title": "Kubernetes", "version": discovery.VERSION["gitVersion"]}


# ------------------------------------------------------------------ definitions


def _names(items: Iterable[resources.ResourceType]) -> list[str]:
    waiting = [kind.name for item in items for kind in _kinds(item)]
    known: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in known:
            known.add(name)
            waiting += _references(api_types.raw()[name])
    return sorted(known)


def _kinds(item: resources.ResourceType) -> Iterator[api_types.Type]:
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
    """Return a definition without the `x-go-…` extensions, with references into this document."""
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
    space, scope = ("/namespaces/{namespace}", "Namespaced") if item.namespaced else ("", "")
    operations = functools.partial(_operations, item, parameters=parameters)
    collection, name = f"/{root}{space}/{item.plural}", f"{scope}{item.kind}"
    yield collection, operations(_COLLECTION_VERBS, name)
    if item.namespaced and "list" in item.verbs:
        across = operations(_ACROSS_NAMESPACES_VERBS, f"{item.kind}ForAllNamespaces")
        yield f"/{root}/{item.plural}", across
    if item.is_stored:
        yield f"{collection}/{{name}}", operations(_OBJECT_VERBS, name)
    for part in item.subresources:
        path = f"{collection}/{{name}}/{part}"
        yield path, operations(_SUBRESOURCE_VERBS, f"{name}{part.capitalize()}", part=part)


def _operations(
    item: resources.ResourceType,
    methods: Mapping[str, str],
    name: str,
    *,
    parameters: list[Document],
    part: str = "",
) -> Document:
    carried = resources.carried_by(item, part) if part else item
    verbs = item.subresource(part).verbs if part else item.verbs
    connects = carried.kind.endswith("Options")
    return {
        method: {
            "operationId": f"{_OPERATION_PREFIXES.get(verb, verb)}{_api(item)}"
            f"{_OPERATION_INFIXES.get(verb, '')}{name}",
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
    """Return group and version as in an `operationId`: `CoreV1`, `RbacAuthorizationV1`."""
    parts = (item.group or "core").removesuffix(".k8s.io").split(".")
    return "".join(part.capitalize() for part in (*parts, item.version))
