"""Paths besides resources: health checks, discovery, and OpenAPI without schemas.

Discovery tells the served groups, versions and resources, aggregated and unaggregated. The OpenAPI
documents have what kubectl looks for before it writes: that a PATCH of each kind has the parameter
`fieldValidation`, so that the server validates fields.
"""

import functools

from harness.apiserver import json_codec
from harness.apiserver.endpoints import request_info, responses
from harness.apiserver.errors import status_errors
from harness.apiserver.json_codec import Document
from harness.apiserver.scheme import resources

VERSION = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.0+flake-hunt",
    "buildDate": "1970-01-01T00:00:00Z",
    "platform": "linux/amd64",
    **dict.fromkeys(("gitCommit", "gitTreeState", "goVersion", "compiler"), ""),
}
_TEXT = "text/plain; charset=utf-8"
_AGGREGATED = f"{responses.JSON};g=apidiscovery.k8s.io;v=v2;as={responses.DISCOVERY}"
_PARAMETERS = [
    {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
    for name in ("fieldValidation", "dryRun")
]


def answer(request: request_info.Request) -> responses.Response:
    """Return the response for a path that names no resource.

    Raises StatusError 404, 405 or 406 for discovery.
    """
    parts = request.path.strip("/").split("/")
    match parts:
        case ["healthz" | "livez" | "readyz"]:
            return responses.Response(200, b"ok", _TEXT)
        case ["openapi", "v3"]:
            roots = map(_root, resources.group_versions())
            paths = {root: {"serverRelativeURL": f"/openapi/v3/{root}"} for root in roots}
            return responses.of_document({"paths": paths})
        case ["openapi", "v3", *rest] if body := _openapi("/".join(rest)):
            return responses.Response(200, body)
        case ["version"] | ["api", *_] | ["apis", *_]:
            return _discovery(request, parts)
    return responses.Response(404, b"404 page not found\n", _TEXT)


def _discovery(request: request_info.Request, parts: list[str]) -> responses.Response:
    if request.method not in ("GET", "HEAD"):
        raise status_errors.method_not_allowed()
    view = responses.preferred_view(request.headers.get("accept", "")) if len(parts) == 1 else ""
    if view == responses.DISCOVERY and parts != ["version"]:
        groups = [""] if parts == ["api"] else resources.groups()
        return responses.Response(200, json_codec.encode(_aggregated(groups)), _AGGREGATED)
    if (document := _document(parts)) is None:
        raise status_errors.unknown_path()
    return responses.of_document(document)


def _served(group: str, version: str) -> list[resources.ResourceType]:
    """Return the served resources of a group version, sorted by name."""
    found = [item for item in resources.ALL if (item.group, item.version) == (group, version)]
    return sorted(found, key=lambda item: item.plural)


def _versions(group: str) -> list[str]:
    return [version for name, version in resources.group_versions() if name == group]


def _names(item: resources.ResourceType) -> Document:
    names = {"shortNames": list(item.short_names), "categories": list(item.categories)}
    return {key: value for key, value in names.items() if value}


# ------------------------------------------------------------------ unaggregated


def _document(parts: list[str]) -> Document | None:
    """Return the discovery document at a path; None if there is none."""
    match parts:
        case ["version"]:
            return VERSION
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


def _group(name: str) -> Document:
    versions = [{"groupVersion": f"{name}/{v}", "version": v} for v in _versions(name)]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


def _resource_list(group: str, version: str) -> Document | None:
    items = _served(group, version)
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
        "singularName": item.kind.lower(),
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
    items = [
        {
            "metadata": {"name": group} if group else {},
            "versions": [
                {
                    "version": version,
                    "resources": list(map(_aggregated_resource, _served(group, version))),
                    "freshness": "Current",
                }
                for version in _versions(group)
            ],
        }
        for group in groups
    ]
    named = {"kind": responses.DISCOVERY, "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}}
    return {**named, "items": items}


def _aggregated_resource(item: resources.ResourceType) -> Document:
    parts = [item.subresource(name) for name in item.subresources]
    subresources = [
        {
            "subresource": part.name,
            "responseKind": {"group": part.group, "version": part.version, "kind": part.kind},
            "verbs": list(part.verbs),
        }
        for part in parts
    ]
    return {
        "resource": item.plural,
        "responseKind": {"group": "", "version": "", "kind": item.kind},
        "scope": "Namespaced" if item.namespaced else "Cluster",
        "singularResource": item.kind.lower(),
        "verbs": list(item.verbs),
        **_names(item),
        **({"subresources": subresources} if subresources else {}),
    }


# ------------------------------------------------------------------ OpenAPI


@functools.lru_cache(64)
def _openapi(root: str) -> bytes:
    """Return the OpenAPI document of one group version, b"" if it is not served."""
    for version in resources.group_versions():
        if _root(version) == root:
            info = {"title": "Kubernetes", "version": VERSION["gitVersion"]}
            stored = [item for item in _served(*version) if item.is_stored]
            paths = dict(_path(root, item) for item in stored)
            return json_codec.encode({"openapi": "3.0.0", "info": info, "paths": paths})
    return b""


def _root(group_version: tuple[str, str]) -> str:
    group, version = group_version
    return f"apis/{group}/{version}" if group else f"api/{version}"


def _path(root: str, item: resources.ResourceType) -> tuple[str, Document]:
    space = "/namespaces/{namespace}" if item.namespaced else ""
    patch = {
        "operationId": f"patch-{item.qualified}-{item.version}",
        "parameters": _PARAMETERS,
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": {
            "group": item.group,
            "version": item.version,
            "kind": item.kind,
        },
    }
    return f"/{root}{space}/{item.plural}/{{name}}", {"patch": patch}
