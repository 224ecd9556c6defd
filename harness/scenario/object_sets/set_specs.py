"""A set of objects that a user creates together: the content of one file of manifests."""

from collections.abc import Iterator
from typing import Annotated, Any, TypeAlias

import msgspec
import pydantic

from harness.manifests import sources, workload_kinds
from harness.scenario.fields import Spec

PODS_MAX = 256
Amount = Annotated[int, msgspec.Meta(ge=1, le=PODS_MAX)]
Manifest: TypeAlias = dict[str, Any]


class Part(msgspec.Struct, frozen=True, rename="camel"):
    """A part of a manifest; keys that are not listed are not read."""


class Entry(Part, frozen=True):
    """An entry of a pod's `resourceClaims`."""

    name: str
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class Container(Part, frozen=True):
    """A container or an init container."""

    name: str
    resources: Manifest | None = None
    ports: list[Manifest] | None = None

    @property
    def amounts(self) -> set[str]:
        found = self.resources or {}
        return {*(found.get("requests") or ()), *(found.get("limits") or ())}


class PodSpec(Part, frozen=True):
    """The spec of a pod."""

    containers: list[Container]
    init_containers: list[Container] | None = None
    resource_claims: list[Entry] | None = None
    restart_policy: str = "Always"
    scheduling_gates: list[Manifest] | None = None
    topology_spread_constraints: list[Manifest] | None = None
    affinity: Manifest | None = None
    node_selector: dict[str, str] | None = None
    scheduling_group: dict[str, str] | None = None

    @property
    def every_container(self) -> Iterator[tuple[str, Container]]:
        """The init containers and containers, each with its place below the spec."""
        for index, item in enumerate(self.init_containers or ()):
            yield f"initContainers[{index}]", item
        for index, item in enumerate(self.containers):
            yield f"containers[{index}]", item


class Pods(Part, frozen=True):
    """A Pod, or the template of a controller's pods."""

    spec: PodSpec
    metadata: Manifest | None = None


class Controller(Part, frozen=True):
    """The spec of a Job, a Deployment or the like; of a DaemonSet, once nodes are known."""

    template: Pods
    replicas: Amount = 1
    parallelism: Amount = 1
    completions: Amount | None = None
    suspend: bool = False


class Alternative(Part, frozen=True):
    """A request for devices of one class: `exactly`, or an entry of `firstAvailable`."""

    device_class_name: str
    admin_access: bool = False
    tolerations: list[Manifest] | None = None
    capacity: Manifest | None = None


class Request(Part, frozen=True):
    """A request of a claim."""

    name: str
    exactly: Alternative | None = None
    first_available: list[Alternative] | None = None


class Devices(Part, frozen=True):
    """The requests of a claim, and their constraints."""

    requests: list[Request] = []
    constraints: list[Manifest] = []


class ClaimSpec(Part, frozen=True):
    """The spec of a claim."""

    devices: Devices = Devices()

    @property
    def alternatives(self) -> Iterator[Alternative]:
        for request in self.devices.requests:
            yield from request.first_available or filter(None, [request.exactly])


class PodGroup(Part, frozen=True):
    """The spec of a PodGroup, whose pods use its claims together."""

    resource_claims: list[Entry] | None = None


_READ: dict[str, tuple[str, type[Part]]] = {
    "Pod": ("", Pods),
    **{
        kind: (at.rpartition(".")[0], Controller)
        for kind, at in workload_kinds.TEMPLATES.items()
        if at
    },
    "PodGroup": ("spec", PodGroup),
    "ResourceClaim": ("spec", ClaimSpec),
    "ResourceClaimTemplate": ("spec.spec", ClaimSpec),
}
"""Kind -> the place of what is read of it, and its type."""
KINDS = tuple(_READ)
"""The kinds that users create, or whose pods they create."""


def shape_of(manifest: Manifest) -> Any:
    """Return what is read of a manifest, whose kind is one of KINDS; see `_READ` for its type.

    Raises ValueError, which names the key, for a part of another type.
    """
    place, kind = _READ[manifest["kind"]]
    try:
        return msgspec.convert(workload_kinds.value(manifest, place) if place else manifest, kind)
    except msgspec.ValidationError as error:
        at, said = sources.misplaced(error, place)
        raise ValueError(f"{at}: {said}" if at else said) from error


SETS_MAX, OBJECTS_MAX = 32, 200
NAME_MAX = 200
"""Characters of a name; a run puts the name of a user and a number before it."""
CLAIM, TEMPLATE, POD = "ResourceClaim", "ResourceClaimTemplate", "Pod"
POD_GROUP = "PodGroup"


class SetObject(Spec):
    """An object of a file, as a user of the run creates it but for its names."""

    at: str = ""
    """Its place in the file, as text."""
    manifest: Manifest
    """The object."""

    @property
    def kind(self) -> str:
        return str(self.manifest["kind"])

    @property
    def name(self) -> str:
        return str(self.manifest["metadata"]["name"])

    def on_nodes(self, nodes: int) -> "SetObject":
        if self.kind != workload_kinds.PER_NODE:
            return self
        spec = {**self.manifest["spec"], "replicas": min(nodes, PODS_MAX)}
        return self.model_copy(update={"manifest": {**self.manifest, "spec": spec}})

    @pydantic.field_validator("manifest")
    @classmethod
    def _require_readable(cls, manifest: Manifest) -> Manifest:
        if why := problem(manifest):
            raise ValueError(why)
        return manifest


class ObjectSet(Spec):
    """The objects of one file, which belong together."""

    file: str
    """Name of the file."""
    objects: Annotated[list[SetObject], pydantic.Field(min_length=1, max_length=OBJECTS_MAX)]
    """The objects, in its order."""
    left_out: list[str] = []
    """Whatever the file says and a run has no use for, as text."""

    def of_kind(self, kind: str) -> list[SetObject]:
        return [item for item in self.objects if item.kind == kind]

    def names(self, kind: str) -> list[str]:
        return [item.name for item in self.of_kind(kind)]

    @property
    def claim_specs(self) -> Iterator[ClaimSpec]:
        for item in (*self.of_kind(CLAIM), *self.of_kind(TEMPLATE)):
            yield shape_of(item.manifest)

    def on_nodes(self, nodes: int) -> "ObjectSet":
        return self.model_copy(update={"objects": [one.on_nodes(nodes) for one in self.objects]})

    def where(self, item: SetObject) -> str:
        """Return the place of an object in sentences: `job.yaml, document 2: Pod one`."""
        return f"{', '.join(filter(None, [self.file, item.at]))}: {item.kind} {item.name}"


def problem(manifest: Manifest) -> str:
    """Return why a manifest cannot be read as an object of its kind; empty if it can."""
    kind = manifest.get("kind")
    if kind not in KINDS:
        return f"expected one of {', '.join(KINDS)}, got the kind {kind!r:.60}"
    name = workload_kinds.value(manifest, "metadata.name")
    if not isinstance(name, str) or not 0 < len(name) <= NAME_MAX:
        return f"metadata.name: expected a name of at most {NAME_MAX} characters, got {name!r:.60}"
    try:
        shape_of(manifest)
    except ValueError as error:
        return str(error)
    return ""
