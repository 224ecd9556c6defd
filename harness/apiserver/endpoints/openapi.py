"""OpenAPI documents of the served resources, version 3, without schemas.

They have what clients look for: the operations, their kinds, and the parameter `fieldValidation`,
which shows kubectl that the server validates fields.
"""

import functools
from collections.abc import Iterator, Mapping

from harness.apiserver.codec import json_codec
from harness.apiserver.endpoints import discovery
from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document

_PARAMETERS = [
    {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
    for name in ("fieldValidation", "dryRun")
]
_COLLECTION_VERBS = {"get": "list", "post": "create", "delete": "deletecollection"}
_OBJECT_VERBS = {"get": "get", "put": "update", "patch": "patch", "delete": "delete"}
_ACTIONS = {"create": "post", "update": "put"}
"""The `x-kubernetes-action` of a verb, where it differs from the API's verb."""


def index() -> bytes:
    """Return the index of the documents."""
    roots = [_root(group, version) for group, version in resources.group_versions()]
    paths = {root: {"serverRelativeURL": f"/openapi/v3/{root}"} for root in roots}
    return json_codec.encode({"paths": paths})


@functools.lru_cache(64)
def document(root: str) -> bytes | None:
    """Return the document of one group version, None if it is not served."""
    for group, version in resources.group_versions():
        if _root(group, version) == root:
            items = discovery.served(group, version)
            return json_codec.encode(
                {
                    "openapi": "3.0.0",
                    "info": {"title": "Kubernetes", "version": discovery.VERSION["gitVersion"]},
                    "paths": dict(path for item in items for path in _paths(root, item)),
                }
            )
    return None


def _root(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


def _paths(root: str, item: resources.ResourceType) -> Iterator[tuple[str, Document]]:
    space = "/namespaces/{namespace}" if item.namespaced else ""
    collection = f"/{root}{space}/{item.plural}"
    yield collection, _operations(item, _COLLECTION_VERBS)
    if item.is_stored:
        yield f"{collection}/{{name}}", _operations(item, _OBJECT_VERBS)


def _operations(item: resources.ResourceType, methods: Mapping[str, str]) -> Document:
    return {
        method: {
            "operationId": f"{verb}-{item.qualified}-{item.version}",
            **({"parameters": _PARAMETERS} if method != "get" else {}),
            "responses": {"200": {"description": "OK"}},
            "x-kubernetes-action": _ACTIONS.get(verb, verb),
            "x-kubernetes-group-version-kind": {
                "group": item.group,
                "version": item.version,
                "kind": item.kind,
            },
        }
        for method, verb in methods.items()
        if verb in item.verbs
    }
