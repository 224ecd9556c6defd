"""The resource table: what the server serves, and how each resource is called."""

import dataclasses

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ResourceType:
    """One served resource; compared and hashed by identity, since it is a key of every look-up."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    requires_version_on_update: bool = False
    """Whether a PUT without metadata.resourceVersion is refused (leases, …)."""
    deletion_returns_object: bool = False
    """Whether DELETE answers with the object even when it is gone at once (pods, claims, …)."""
    tracks_generation: bool = False
    """Whether metadata.generation counts changes of the spec."""

    @property
    def singular(self) -> str:
        """The lower-case kind."""
        return self.kind.lower()

    @property
    def api_version(self) -> str:
        """`v1`, `resource.k8s.io/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """`pods`, `resourceclaims.resource.k8s.io`: how errors name it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def qualified_kind(self) -> str:
        """`Pod`, `ResourceClaim.resource.k8s.io`: how validation errors name it."""
        return f"{self.kind}.{self.group}" if self.group else self.kind


_DRA = "resource.k8s.io"

NAMESPACES = ResourceType(
    group="",
    version="v1",
    kind="Namespace",
    plural="namespaces",
    namespaced=False,
    short_names=("ns",),
    subresources=("status", "finalize"),
    deletion_returns_object=True,
)
NODES = ResourceType(
    group="",
    version="v1",
    kind="Node",
    plural="nodes",
    namespaced=False,
    short_names=("no",),
    subresources=("status",),
)
PODS = ResourceType(
    group="",
    version="v1",
    kind="Pod",
    plural="pods",
    namespaced=True,
    short_names=("po",),
    subresources=("status", "binding"),
    categories=("all",),
    deletion_returns_object=True,
    tracks_generation=True,
)
EVENTS = ResourceType(
    group="", version="v1", kind="Event", plural="events", namespaced=True, short_names=("ev",)
)
CONFIGMAPS = ResourceType(
    group="",
    version="v1",
    kind="ConfigMap",
    plural="configmaps",
    namespaced=True,
    short_names=("cm",),
)
SECRETS = ResourceType(group="", version="v1", kind="Secret", plural="secrets", namespaced=True)
SERVICEACCOUNTS = ResourceType(
    group="",
    version="v1",
    kind="ServiceAccount",
    plural="serviceaccounts",
    namespaced=True,
    short_names=("sa",),
)
LEASES = ResourceType(
    group="coordination.k8s.io",
    version="v1",
    kind="Lease",
    plural="leases",
    namespaced=True,
    requires_version_on_update=True,
)
DEVICE_CLASSES = ResourceType(
    group=_DRA,
    version="v1",
    kind="DeviceClass",
    plural="deviceclasses",
    namespaced=False,
    deletion_returns_object=True,
    tracks_generation=True,
)
CLAIMS = ResourceType(
    group=_DRA,
    version="v1",
    kind="ResourceClaim",
    plural="resourceclaims",
    namespaced=True,
    subresources=("status",),
    deletion_returns_object=True,
)
CLAIM_TEMPLATES = ResourceType(
    group=_DRA,
    version="v1",
    kind="ResourceClaimTemplate",
    plural="resourceclaimtemplates",
    namespaced=True,
    deletion_returns_object=True,
)
SLICES = ResourceType(
    group=_DRA,
    version="v1",
    kind="ResourceSlice",
    plural="resourceslices",
    namespaced=False,
    deletion_returns_object=True,
    tracks_generation=True,
)
NEW_EVENTS = dataclasses.replace(EVENTS, group="events.k8s.io")
"""The same objects as core events, under their newer name."""

ALL: tuple[ResourceType, ...] = (
    NAMESPACES,
    NODES,
    PODS,
    EVENTS,
    CONFIGMAPS,
    SECRETS,
    SERVICEACCOUNTS,
    LEASES,
    DEVICE_CLASSES,
    CLAIMS,
    CLAIM_TEMPLATES,
    SLICES,
    NEW_EVENTS,
)
_BY_PATH = {(item.group, item.version, item.plural): item for item in ALL}


def find(group: str, version: str, plural: str) -> ResourceType | None:
    """The resource of a request path, None when it is not served."""
    return _BY_PATH.get((group, version, plural))


def group_versions() -> list[tuple[str, str]]:
    """Every (group, version), the core one first."""
    return list(dict.fromkeys((item.group, item.version) for item in ALL))
