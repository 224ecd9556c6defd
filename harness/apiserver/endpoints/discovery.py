"""Discovery: the served groups, versions and resources, aggregated and unaggregated."""

from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document

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


def answer(parts: list[str], *, is_aggregated: bool = False) -> Document | None:
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
