"""A set of objects that a user creates together: the content of one file of manifests."""

import dataclasses
from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated, Any, TypeAlias

import msgspec
import pydantic

from harness.manifests import places, sources, workload_kinds
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


class PodGroup(Part, frozen=True):
    """The spec of a PodGroup, whose pods use its claims together."""

    resource_claims: list[Entry] | None = None


CLAIM, TEMPLATE, POD = "ResourceClaim", "ResourceClaimTemplate", "Pod"
POD_GROUP = "PodGroup"
_READ: dict[str, tuple[str, Any]] = {
    **{
        kind: (at.rpartition(".")[0], Controller if at else Pods)
        for kind, at in workload_kinds.TEMPLATES.items()
    },
    POD_GROUP: ("spec", PodGroup),
    CLAIM: ("spec", Manifest),
    TEMPLATE: ("spec.spec", Manifest),
}
"""Kind -> the place of what is read of it, and its type; an API server says the rest of claims."""
KINDS = tuple(_READ)
"""The kinds that users create, or whose pods they create."""


def shape_of(manifest: Manifest) -> Any:
    """Return what is read of a manifest, whose kind is one of KINDS; see `_READ` for its type.

    Raises ValueError, which names the key, for a part of another type.
    """
    place, kind = _READ[manifest["kind"]]
    try:
        return msgspec.convert(places.value(manifest, place), kind)
    except msgspec.ValidationError as error:
        at, said = sources.misplaced(error, place)
        raise ValueError(f"{at}: {said}" if at else said) from error


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The pods that belong to one object."""

    name: str
    at: str
    """Place of the pods' template in the object; empty: it is a Pod."""
    template: Manifest
    """The template as the manifest has it: `metadata` and `spec`."""
    spec: PodSpec
    """The same with its types."""
    pods: int = 1
    """Number of its pods in each round."""
    at_once: int = 1
    """Number of pods that exist at once before the first has ended."""
    completes: bool = False
    """The pods end by themselves."""
    is_suspended: bool = False
    is_per_node: bool = False
    """Each pod is for a node of its own."""

    def pod_names(self, prefix: str) -> list[str]:
        if not self.at:
            return [f"{prefix}-{self.name}"]
        return [f"{prefix}-{self.name}-{index}" for index in range(self.pods)]

    @property
    def entries(self) -> list[Entry]:
        return self.spec.resource_claims or []

    @property
    def amounts(self) -> set[str]:
        return {name for _, item in self.spec.every_container for name in item.amounts}


SETS_MAX, OBJECTS_MAX = 32, 200
NAME_MAX = 200
"""Characters of a name; a run puts the name of a user and a number before it."""


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

    @property
    def workload(self) -> Workload | None:
        if (at := workload_kinds.TEMPLATES.get(self.kind)) is None:
            return None
        shape, template = shape_of(self.manifest), places.value(self.manifest, at)
        if not at:
            return Workload(name=self.name, at=at, template=template, spec=shape.spec)
        is_job = self.kind in ("Job", "CronJob")
        pods = (shape.completions or shape.parallelism) if is_job else shape.replicas
        return Workload(
            name=self.name,
            at=at,
            template=template,
            spec=shape.template.spec,
            pods=pods,
            at_once=min(shape.parallelism, pods) if is_job else pods,
            completes=is_job,
            is_suspended=shape.suspend,
            is_per_node=self.kind == workload_kinds.PER_NODE,
        )

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

    def of_kind(self, *kinds: str) -> list[SetObject]:
        return [item for item in self.objects if item.kind in kinds]

    def names(self, kind: str) -> list[str]:
        return [item.name for item in self.of_kind(kind)]

    @property
    def workloads(self) -> list[tuple[SetObject, Workload]]:
        return [(item, found) for item in self.objects if (found := item.workload)]

    def on_nodes(self, nodes: int) -> "ObjectSet":
        return self.model_copy(update={"objects": [one.on_nodes(nodes) for one in self.objects]})

    def where(self, item: SetObject) -> str:
        """Return the place of an object in sentences: `job.yaml, document 2: Pod one`."""
        return f"{', '.join(filter(None, [self.file, item.at]))}: {item.kind} {item.name}"

    # ------------------------------------------------------------------------- needs

    @property
    def pods_per_claim(self) -> Fraction:
        """How many pods run for each claim that it makes, at least.

        A set that names no claims makes one for each pod, by extended resources.
        """
        shared = [entry for entries in self.group_entries.values() for entry in entries]
        claims = len(self.of_kind(CLAIM)) + sum(map(_is_generated, shared))
        for _, workload in self.workloads:
            own = [entry for entry in workload.entries if entry not in shared]
            claims += workload.pods * sum(map(_is_generated, own))
        pods = sum(workload.pods for _, workload in self.workloads)
        return Fraction(pods, claims or pods)

    @property
    def group_entries(self) -> dict[str, list[Entry]]:
        groups = self.of_kind(POD_GROUP)
        return {item.name: shape_of(item.manifest).resource_claims or [] for item in groups}

    @property
    def is_whole(self) -> bool:
        entries = (entry for _, workload in self.workloads for entry in workload.entries)
        used = {entry.resource_claim_template_name for entry in entries}
        return used <= {None, *self.names(TEMPLATE)}

    @property
    def has_admin_access(self) -> bool:
        return any(wanted.get("adminAccess") for _, wanted in self.requests)

    @property
    def tolerates(self) -> bool:
        return any(wanted.get("tolerations") for _, wanted in self.requests)

    @property
    def asks_for_shares(self) -> bool:
        """True if claims ask for amounts of capacities, or for distinct attributes."""
        constraints = self._of_claims("devices.constraints[]")
        is_distinct = any(item.get("distinctAttribute") for _, item in constraints)
        return is_distinct or any(wanted.get("capacity") for _, wanted in self.requests)

    @property
    def asks_for_extended(self) -> bool:
        return any("/" in name for _, workload in self.workloads for name in workload.amounts)

    @property
    def requests(self) -> Iterator[tuple[SetObject, Manifest]]:
        yield from self._of_claims("devices.requests[].exactly")
        yield from self._of_claims("devices.requests[].firstAvailable[]")

    def _of_claims(self, place: str) -> Iterator[tuple[SetObject, Manifest]]:
        for item in self.of_kind(CLAIM, TEMPLATE):
            for found in places.tables(shape_of(item.manifest), place):
                yield item, found


def _is_generated(entry: Entry) -> bool:
    return entry.resource_claim_template_name is not None


def problem(manifest: Manifest) -> str:
    """Return why a manifest cannot be read as an object of its kind; empty if it can."""
    kind = manifest.get("kind")
    if kind not in KINDS:
        return f"expected one of {', '.join(KINDS)}, got the kind {kind!r:.60}"
    name = places.value(manifest, "metadata.name")
    if not isinstance(name, str) or not 0 < len(name) <= NAME_MAX:
        return f"metadata.name: expected a name of at most {NAME_MAX} characters, got {name!r:.60}"
    try:
        shape_of(manifest)
    except ValueError as error:
        return str(error)
    return ""
