"""The served resources: their names, verbs and subresources, read from `catalogue`."""

import base64
import dataclasses
import functools
import hashlib
from collections.abc import Iterator
from typing import NamedTuple

from harness.apiserver.scheme import catalogue

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


class Subresource(NamedTuple):
    """A subresource: a part of an object, such as `status`, or an action, such as `eviction`."""

    name: str
    kind: str
    """The kind of request bodies; for most subresources the resource's own."""
    verbs: tuple[str, ...]
    group: str = ""
    """The group of `kind`; meaningful only if `version` is set."""
    version: str = ""
    """The version of `kind`, "" if group and version are the resource's own."""


_WRITABLE = ("get", "patch", "update")
_SUBRESOURCES = {
    "approval": Subresource("approval", "", _WRITABLE),
    "binding": Subresource("binding", "Binding", ("create",)),
    "eviction": Subresource("eviction", "Eviction", ("create",), "policy", "v1"),
    "finalize": Subresource("finalize", "", ("update",)),
    "status": Subresource("status", "", _WRITABLE),
}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class ResourceType:
    """A resource; compared and hashed by identity, because it is the key of frequent lookups."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    requires_version_on_update: bool = False
    """A PUT without `metadata.resourceVersion` is rejected (leases, …)."""
    creates_on_update: bool = False
    """A PUT of a name that does not exist creates the object (leases, events, …)."""
    deletion_returns_object: bool = False
    """DELETE returns the object even if it is removed immediately (pods, claims, …)."""
    tracks_generation: bool = False
    """`metadata.generation` counts the changes of the spec."""
    is_stored: bool = True
    """The resource has objects; reviews and bindings have none."""

    @functools.cached_property
    def api_version(self) -> str:
        """The `apiVersion` of its objects: `v1`, `resource.k8s.io/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @functools.cached_property
    def qualified(self) -> str:
        """The name in errors: `pods`, `resourceclaims.resource.k8s.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @functools.cached_property
    def storage_version_hash(self) -> str:
        storage = table_of(self)
        name = f"{storage.group}/{storage.version}/{storage.kind}"
        return base64.b64encode(hashlib.sha256(name.encode()).digest()[:8]).decode()

    def subresource(self, name: str) -> Subresource:
        """Return a subresource by its name. Raises KeyError if there is none."""
        if name not in self.subresources:
            raise KeyError(name)
        part = _SUBRESOURCES[name]
        return part._replace(kind=part.kind or self.kind)


def find(group: str, version: str, plural: str) -> ResourceType | None:
    """Return the resource of a request path, None if it is not served."""
    return _BY_PATH.get((group, version, plural))


def group_versions() -> list[tuple[str, str]]:
    """Return all served (group, version) pairs, the core group first."""
    return list(dict.fromkeys((item.group, item.version) for item in ALL))


def optional(group: str, version: str, plural: str) -> ResourceType:
    """Return an optional resource. Raises KeyError if there is none."""
    return _OPTIONAL[group, version, plural]


def enable(group_version: str) -> None:
    """Serve an optional version, for as long as the process lives. Raises KeyError if unknown."""
    enabled = [item for item in OPTIONAL if item.api_version == group_version]
    if not enabled:
        raise KeyError(group_version)
    _BY_PATH.update({(item.group, item.version, item.plural): item for item in enabled})
    served = set(_BY_PATH.values())
    ALL[:] = [item for item in (*_ALWAYS, *OPTIONAL) if item in served]


def groups() -> list[str]:
    """Return the names of all groups but the core group, in the order of discovery."""
    return list(dict.fromkeys(item.group for item in ALL if item.group))


def table_of(resource: ResourceType) -> ResourceType:
    """Return the resource under which the objects are stored.

    It differs from `resource` for those with a second group or version (events, DRA).
    """
    return _STORED_AS.get(resource, resource)


@functools.cache
def carried_by(resource: ResourceType, subresource: str) -> ResourceType:
    """Return a copy of the resource with the group, version and kind of a subresource's bodies."""
    part = resource.subresource(subresource)
    group, version = (
        (part.group, part.version) if part.version else (resource.group, resource.version)
    )
    return dataclasses.replace(resource, group=group, version=version, kind=part.kind)


def _words(text: str) -> tuple[str, ...]:
    return () if text == "-" else tuple(text.split(","))


def _parse(table: str) -> Iterator[ResourceType]:
    group = version = ""
    for line in filter(None, map(str.split, table.splitlines())):
        if line[0] == "=":
            group, _, version = line[1].rpartition("/")
        else:
            yield _resource(group, version, line)


def _resource(group: str, version: str, line: list[str]) -> ResourceType:
    kind, plural, scope, short_names, subresources, categories, marks = line
    verbs: tuple[str, ...] = ALL_VERBS if "stored" in marks else ("create",)
    if kind == "Namespace":
        verbs = tuple([verb for verb in verbs if verb != "deletecollection"])
    return ResourceType(
        group=group,
        version=version,
        kind=kind,
        plural=plural,
        namespaced=scope == "N",
        short_names=_words(short_names),
        subresources=_words(subresources),
        categories=_words(categories),
        verbs=verbs,
        requires_version_on_update="versioned" in marks,
        creates_on_update="created" in marks,
        deletion_returns_object="returned" in marks,
        tracks_generation="generation" in marks,
        is_stored="stored" in marks,
    )


_ALWAYS = tuple(_parse(catalogue.RESOURCES))
ALL: list[ResourceType] = list(_ALWAYS)
"""The served resources; `enable` adds to them."""
OPTIONAL: tuple[ResourceType, ...] = tuple(_parse(catalogue.OPTIONAL_RESOURCES))
"""The resources of versions that `enable` serves."""
_BY_PATH = {(item.group, item.version, item.plural): item for item in ALL}
_OPTIONAL = {(item.group, item.version, item.plural): item for item in OPTIONAL}

_DRA = "resource.k8s.io"
NAMESPACES = _BY_PATH["", "v1", "namespaces"]
NODES = _BY_PATH["", "v1", "nodes"]
PODS = _BY_PATH["", "v1", "pods"]
EVENTS = _BY_PATH["", "v1", "events"]
CONFIGMAPS = _BY_PATH["", "v1", "configmaps"]
SECRETS = _BY_PATH["", "v1", "secrets"]
LEASES = _BY_PATH["coordination.k8s.io", "v1", "leases"]
DEVICE_CLASSES = _BY_PATH[_DRA, "v1", "deviceclasses"]
CLAIMS = _BY_PATH[_DRA, "v1", "resourceclaims"]
CLAIM_TEMPLATES = _BY_PATH[_DRA, "v1", "resourceclaimtemplates"]
SLICES = _BY_PATH[_DRA, "v1", "resourceslices"]
PRIORITY_CLASSES = _BY_PATH["scheduling.k8s.io", "v1", "priorityclasses"]
NEW_EVENTS = _BY_PATH["events.k8s.io", "v1", "events"]
"""The events.k8s.io name of core events; both serve the same objects."""
TAINT_RULES = optional(_DRA, "v1beta2", "devicetaintrules")
POD_GROUPS = optional("scheduling.k8s.io", "v1alpha2", "podgroups")
STORED: tuple[ResourceType, ...] = tuple([item for item in (*ALL, *OPTIONAL) if item.is_stored])
"""All resources that have objects, served or not."""


def _storage_of(item: ResourceType) -> ResourceType:
    for alone in (TAINT_RULES, POD_GROUPS):
        if item.plural == alone.plural:
            return alone
    return _BY_PATH[item.group, "v1", item.plural]


_STORED_AS = {NEW_EVENTS: EVENTS} | {item: _storage_of(item) for item in OPTIONAL}
