"""What the server says it serves: group and resource discovery, version, and the OpenAPI that kubectl asks for.

The OpenAPI documents name kinds and operations without their fields: kubectl 1.29 and newer ask only whether the server validates
fields itself. `kubectl explain` needs more.
"""

from typing import Any

from harness.apiserver import resources

Document = dict[str, Any]
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
_PREFERRED_KINDS = {"namespaces": "Namespace"}


def answer(path: str) -> Document | None:
    """The discovery document at a path, None when there is none."""
    match path.strip("/").split("/"):
        case ["version"]:
            return dict(VERSION)
        case ["api"]:
            return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
        case ["apis"]:
            groups = [_group(name) for name in _groups()]
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        case ["api", "v1"]:
            return _resource_list("", "v1")
        case ["apis", group]:
            known = group in _groups()
            return {"kind": "APIGroup", "apiVersion": "v1", **_group(group)} if known else None
        case ["apis", group, version]:
            return _resource_list(group, version)
        case ["openapi", "v3"]:
            return {
                "paths": {
                    _root(g, v): {"serverRelativeURL": f"/openapi/v3/{_root(g, v)}"}
                    for g, v in resources.group_versions()
                }
            }
        case ["openapi", "v3", *rest]:
            return _openapi("/".join(rest))
    return None


def _groups() -> list[str]:
    return list(dict.fromkeys(group for group, _ in resources.group_versions() if group))


def _group(name: str) -> Document:
    versions = [
        {"groupVersion": f"{group}/{version}", "version": version}
        for group, version in resources.group_versions()
        if group == name
    ]
    return {"name": name, "versions": versions, "preferredVersion": versions[0] if versions else {}}


def _root(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


def _served(group: str, version: str) -> list[resources.ResourceType]:
    return [item for item in resources.ALL if (item.group, item.version) == (group, version)]


def _resource_list(group: str, version: str) -> Document | None:
    served = _served(group, version)
    if not served:
        return None
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": served[0].api_version,
        "resources": [entry for item in served for entry in _entries(item)],
    }


def _entries(item: resources.ResourceType) -> list[Document]:
    main: Document = {
        "name": item.plural,
        "singularName": item.singular,
        "namespaced": item.namespaced,
        "kind": item.kind,
        "verbs": list(resources.ALL_VERBS),
    }
    if item.short_names:
        main["shortNames"] = list(item.short_names)
    if item.categories:
        main["categories"] = list(item.categories)
    return [main, *(_subresource_entry(item, name) for name in item.subresources)]


def _subresource_entry(item: resources.ResourceType, name: str) -> Document:
    verbs = {"binding": ["create"], "finalize": ["update"]}.get(name, ["get", "patch", "update"])
    return {
        "name": f"{item.plural}/{name}",
        "singularName": "",
        "namespaced": item.namespaced,
        "kind": "Binding" if name == "binding" else item.kind,
        "verbs": verbs,
    }


def _openapi(root: str) -> Document | None:
    for group, version in resources.group_versions():
        if _root(group, version) == root:
            paths = dict(_openapi_path(root, item) for item in _served(group, version))
            return {
                "openapi": "3.0.0",
                "info": {"title": "Flake Hunt", "version": VERSION["gitVersion"]},
                "paths": paths,
                "components": {"schemas": dict(_schema(i) for i in _served(group, version))},
            }
    return None


def _gvk(item: resources.ResourceType) -> Document:
    return {"group": item.group, "version": item.version, "kind": item.kind}


def _schema(item: resources.ResourceType) -> tuple[str, Document]:
    name = f"io.k8s.api.{item.group or 'core'}.{item.version}.{item.kind}"
    return name, {"type": "object", "x-kubernetes-group-version-kind": [_gvk(item)]}


def _openapi_path(root: str, item: resources.ResourceType) -> tuple[str, Document]:
    space = "/namespaces/{namespace}" if item.namespaced else ""
    field_validation = {"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}
    patch = {
        "parameters": [field_validation],
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": _gvk(item),
    }
    return f"/{root}{space}/{item.plural}/{{name}}", {"patch": patch}
