"""Paths besides resources: health checks, `/version`, discovery, and OpenAPI without schemas.

The OpenAPI documents have what clients look for: the operations, their kinds, and the parameter
`fieldValidation`, which shows kubectl that the server validates fields.
"""

import functools
from collections.abc import Iterator, Mapping

from harness.apiserver.codec import json_codec
from harness.apiserver.endpoints import discovery, negotiation, request_info, responses
from harness.apiserver.errors import status_errors
from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document

TEXT = "text/plain; charset=utf-8"
_NO_PAGE = responses.Response(404, b"404 page not found\n", TEXT)
_PARAMETERS = [
    {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
    for name in ("fieldValidation", "dryRun")
]
_COLLECTION_VERBS = {"get": "list", "post": "create", "delete": "deletecollection"}
_OBJECT_VERBS = {"get": "get", "put": "update", "patch": "patch", "delete": "delete"}
_ACTIONS = {"create": "post", "update": "put"}
"""The `x-kubernetes-action` of a verb, where it differs from the API's verb."""


def answer(request: request_info.Request) -> responses.Response:
    """Return the response for a path that names no resource.

    Raises StatusError 404, 405 or 406 for discovery.
    """
    parts = request.path.strip("/").split("/")
    match parts:
        case ["healthz" | "livez" | "readyz"]:
            return responses.Response(200, b"ok", TEXT)
        case ["openapi", "v3"]:
            roots = map(_root, resources.group_versions())
            paths = {root: {"serverRelativeURL": f"/openapi/v3/{root}"} for root in roots}
            return responses.of_document({"paths": paths})
        case ["openapi", "v3", *rest] if body := _openapi("/".join(rest)):
            return responses.Response(200, body)
        case ["version"] | ["api", *_] | ["apis", *_]:
            return _discovery(request, parts)
    return _NO_PAGE


def _discovery(request: request_info.Request, parts: list[str]) -> responses.Response:
    if request.method not in ("GET", "HEAD"):
        raise status_errors.method_not_allowed()
    view = negotiation.view(request.headers.get("accept", "")) if len(parts) == 1 else ""
    is_aggregated = view == negotiation.DISCOVERY
    document = discovery.answer(parts, is_aggregated=is_aggregated)
    if document is None:
        raise status_errors.unknown_path()
    media = f"{negotiation.JSON};g=apidiscovery.k8s.io;v=v2;as={view}"
    body = json_codec.encode(document)
    return responses.Response(200, body, media if is_aggregated else negotiation.JSON)


@functools.lru_cache(64)
def _openapi(root: str) -> bytes:
    """Return the OpenAPI document of one group version, b"" if it is not served."""
    for version in resources.group_versions():
        if _root(version) == root:
            return json_codec.encode(
                {
                    "openapi": "3.0.0",
                    "info": {"title": "Kubernetes", "version": discovery.VERSION["gitVersion"]},
                    "paths": dict(
                        path for item in discovery.served(*version) for path in _paths(root, item)
                    ),
                }
            )
    return b""


def _root(group_version: tuple[str, str]) -> str:
    group, version = group_version
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
