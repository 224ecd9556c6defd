"""How lists merge: the one table that strategic merge patches and server-side apply share.

Paths are of field names from the object's root, without list positions. A list that is not named here is atomic. Source: the
patchMergeKey and listMapKey marks of the API types [R dra.md 4.3; pods and nodes from the published OpenAPI].
"""

from harness.apiserver import resources

Keys = tuple[str, ...]
_META: dict[str, Keys] = {"metadata.ownerReferences": ("uid",)}
_CONDITIONS: dict[str, Keys] = {"status.conditions": ("type",)}
_CONTAINER: dict[str, Keys] = {
    "env": ("name",),
    "ports": ("containerPort",),
    "volumeMounts": ("mountPath",),
    "resources.claims": ("name",),
}

KEYS: dict[resources.ResourceType, dict[str, Keys]] = {
    resources.PODS: {
        **_META,
        **_CONDITIONS,
        "spec.containers": ("name",),
        "spec.initContainers": ("name",),
        **{f"spec.containers.{path}": keys for path, keys in _CONTAINER.items()},
        **{f"spec.initContainers.{path}": keys for path, keys in _CONTAINER.items()},
        "spec.imagePullSecrets": ("name",),
        "spec.hostAliases": ("ip",),
        "spec.resourceClaims": ("name",),
        "spec.schedulingGates": ("name",),
        "spec.topologySpreadConstraints": ("topologyKey",),
        "spec.volumes": ("name",),
        "status.resourceClaimStatuses": ("name",),
        "status.podIPs": ("ip",),
        "status.hostIPs": ("ip",),
    },
    resources.NODES: {**_META, **_CONDITIONS, "status.addresses": ("type",)},
    resources.NAMESPACES: {**_META, **_CONDITIONS},
    resources.CLAIMS: {
        **_META,
        "status.reservedFor": ("uid",),
        "status.devices": ("driver", "device", "pool", "shareID"),
        "status.devices.conditions": ("type",),
    },
    resources.SERVICEACCOUNTS: {**_META, "secrets": ("name",)},
}
"""Lists whose items are told apart by these keys."""

SETS = frozenset({"metadata.finalizers", "spec.finalizers"})
"""Lists of plain values that merge as sets."""


def merge_keys(resource: resources.ResourceType, path: str) -> Keys | None:
    """The keys of a list map, None when the list is not one."""
    return KEYS.get(resource, _META).get(path)
