"""Discovery: the served groups, versions and resources, aggregated and unaggregated."""

from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document

VERSION = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
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
    """Return the served resources of a group version; empty if it is not served."""
    return [item for item in resources.ALL if (item.group, item.version) == (group, version)]


def _versions(group: str) -> list[str]:
    return [version for name, version in resources.group_versions() if name == group]


def _group(name: str) -> Document:
    versions = [{"groupVersion": f"{name}/{v}", "version": v} for v in _versions(name)]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


# ------------------------------------------------------------------ unaggregated


def _resource_list(group: str, version: str) -> Document | None:
    items = sorted(served(group, version), key=lambda item: item.plural)
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
    }
    main |= _names(item)
    if item.is_stored:
        main["storageVersionHash"] = item.storage_version_hash
    return [main, *(_subresource_entry(item, name) for name in item.subresources)]


def _names(item: resources.ResourceType) -> Document:
    names = {"shortNames": list(item.short_names), "categories": list(item.categories)}
    return {key: value for key, value in names.items() if value}


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
                "versions": [_aggregated_version(group, version) for version in _versions(group)],
            }
            for group in groups
        ],
    }


def _aggregated_version(group: str, version: str) -> Document:
    items = sorted(served(group, version), key=lambda item: item.plural)
    return {
        "version": version,
        "resources": [_aggregated_resource(item) for item in items],
        "freshness": "Current",
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
    parts = [item.subresource(name) for name in item.subresources]
    if parts:
        entry["subresources"] = [
            {
                "subresource": part.name,
                "responseKind": {"group": part.group, "version": part.version, "kind": part.kind},
                "verbs": list(part.verbs),
            }
            for part in parts
        ]
    return entry
