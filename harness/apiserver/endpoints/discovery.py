"""Paths besides resources: health checks, discovery, and OpenAPI without schemas.

Discovery tells the served groups, versions and resources, aggregated and unaggregated. The OpenAPI
documents have what clients look for: the operations, their kinds, and the parameter
`fieldValidation`, which shows kubectl that the server validates fields.
"""

import functools
from collections.abc import Iterator, Mapping

from harness.apiserver import json_codec
from harness.apiserver.endpoints import request_info, responses
from harness.apiserver.errors import status_errors
from harness.apiserver.json_codec import Document
from harness.apiserver.scheme import resources

VERSION = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.0+flake-hunt",
    "gitCommit": "",
    "gitTreeState": "",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "linux/amd64",
}
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
    view = responses.preferred_view(request.headers.get("accept", "")) if len(parts) == 1 else ""
    is_aggregated = view == responses.DISCOVERY
    document = document_at(parts, is_aggregated=is_aggregated)
    if document is None:
        raise status_errors.unknown_path()
    media = f"{responses.JSON};g=apidiscovery.k8s.io;v=v2;as={view}"
    body = json_codec.encode(document)
    return responses.Response(200, body, media if is_aggregated else responses.JSON)


def document_at(parts: list[str], *, is_aggregated: bool = False) -> Document | None:
    """Return the discovery document at a path, given as its segments; None if there is none."""
    match parts:
        case ["version"]:
            return dict(VERSION)
        case ["api" | "apis" as root] if is_aggregated:
            return _aggregated([""] if root == "api" else resources.groups())
        case ["api"]:
            return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
        case ["apis"]:
            groups = [_group(name) for name in resources.groups()]
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        case ["api", version]:
            return _resource_list("", version)
        case ["apis", group] if group in resources.groups():
            return {"kind": "APIGroup", "apiVersion": "v1", **_group(group)}
        case ["apis", group, version]:
            return _resource_list(group, version)
    return None


def served(group: str, version: str) -> list[resources.ResourceType]:
    """Return the served resources of a group version, sorted by name; empty if none are served."""
    found = [item for item in resources.ALL if (item.group, item.version) == (group, version)]
    return sorted(found, key=lambda item: item.plural)


def _versions(group: str) -> list[str]:
    return [version for name, version in resources.group_versions() if name == group]


def _group(name: str) -> Document:
    versions = [{"groupVersion": f"{name}/{v}", "version": v} for v in _versions(name)]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


def _names(item: resources.ResourceType) -> Document:
    names = {"shortNames": list(item.short_names), "categories": list(item.categories)}
    return {key: value for key, value in names.items() if value}


# ------------------------------------------------------------------ unaggregated


def _resource_list(group: str, version: str) -> Document | None:
    items = served(group, version)
    if not items:
        return None
    return {
        "kind": "APIResourceList",
        **({"apiVersion": "v1"} if group else {}),
        "groupVersion": items[0].api_version,
        "resources": [entry for item in items for entry in _entries(item)],
    }


def _entries(item: resources.ResourceType) -> list[Document]:
    main: Document = {
        "name": item.plural,
        "singularName": item.singular,
        "namespaced": item.namespaced,
        "kind": item.kind,
        "verbs": list(item.verbs),
        **_names(item),
    }
    if item.is_stored:
        main["storageVersionHash"] = item.storage_version_hash
    return [main, *(_subresource_entry(item, name) for name in item.subresources)]


def _subresource_entry(item: resources.ResourceType, name: str) -> Document:
    part = item.subresource(name)
    own = {"group": part.group, "version": part.version} if part.version else {}
    return {
        "name": f"{item.plural}/{name}",
        "singularName": "",
        "namespaced": item.namespaced,
        **own,
        "kind": part.kind,
        "verbs": list(part.verbs),
    }


# ------------------------------------------------------------------ aggregated


def _aggregated(groups: list[str]) -> Document:
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": [
            {
                "metadata": {"name": group} if group else {},
                "versions": [
                    {
                        "version": version,
                        "resources": list(map(_aggregated_resource, served(group, version))),
                        "freshness": "Current",
                    }
                    for version in _versions(group)
                ],
            }
            for group in groups
        ],
    }


def _aggregated_resource(item: resources.ResourceType) -> Document:
    entry: Document = {
        "resource": item.plural,
        "responseKind": {"group": "", "version": "", "kind": item.kind},
        "scope": "Namespaced" if item.namespaced else "Cluster",
        "singularResource": item.singular,
        "verbs": list(item.verbs),
        **_names(item),
    }
    if parts := [item.subresource(name) for name in item.subresources]:
        entry["subresources"] = [
            {
                "subresource": part.name,
                "responseKind": {"group": part.group, "version": part.version, "kind": part.kind},
                "verbs": list(part.verbs),
            }
            for part in parts
        ]
    return entry


# ------------------------------------------------------------------ OpenAPI


@functools.lru_cache(64)
def _openapi(root: str) -> bytes:
    """Return the OpenAPI document of one group version, b"" if it is not served."""
    for version in resources.group_versions():
        if _root(version) == root:
            return json_codec.encode(
                {
                    "openapi": "3.0.0",
                    "info": {"title": "Kubernetes", "version": VERSION["gitVersion"]},
                    "paths": dict(path for item in served(*version) for path in _paths(root, item)),
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
