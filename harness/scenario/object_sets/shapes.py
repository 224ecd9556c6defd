"""The parts of manifests that a run reads, with their types; the API server judges the rest."""

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec

PODS_MAX = 256
Amount = Annotated[int, msgspec.Meta(ge=1, le=PODS_MAX)]
Items = dict[str, Any]


class Part(msgspec.Struct, frozen=True, rename="camel"):
    """A part of a manifest; keys that are not listed are not read."""


class Entry(Part, frozen=True):
    """An entry of a pod's `resourceClaims`."""

    name: str
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class UsedClaim(Part, frozen=True):
    """An entry of a container's `resources.claims`."""

    name: str
    request: str = ""


class Resources(Part, frozen=True):
    """The resources of a container."""

    requests: dict[str, str | int | float] | None = None
    limits: dict[str, str | int | float] | None = None
    claims: list[UsedClaim] | None = None


class Port(Part, frozen=True):
    """A port of a container."""

    host_port: int = 0


class Container(Part, frozen=True):
    """A container or an init container."""

    name: str
    resources: Resources | None = None
    ports: list[Port] | None = None

    @property
    def used(self) -> list[UsedClaim]:
        return (self.resources.claims if self.resources else None) or []

    @property
    def amounts(self) -> set[str]:
        """The names of the resources that it asks for an amount of."""
        found = self.resources or Resources()
        return {*(found.requests or ()), *(found.limits or ())}


class Affinity(Part, frozen=True):
    """The affinity of a pod."""

    pod_affinity: Items | None = None
    pod_anti_affinity: Items | None = None


class SchedulingGroup(Part, frozen=True):
    """The group of a pod."""

    pod_group_name: str


class PodSpec(Part, frozen=True):
    """The spec of a pod."""

    containers: list[Container]
    init_containers: list[Container] | None = None
    resource_claims: list[Entry] | None = None
    restart_policy: str = "Always"
    scheduling_gates: list[Items] | None = None
    topology_spread_constraints: list[Items] | None = None
    affinity: Affinity | None = None
    tolerations: list[Items] | None = None
    node_selector: dict[str, str] | None = None
    scheduling_group: SchedulingGroup | None = None

    @property
    def every_container(self) -> Iterator[tuple[str, Container]]:
        """The init containers and containers, each with its place below the spec."""
        for index, item in enumerate(self.init_containers or ()):
            yield f"initContainers[{index}]", item
        for index, item in enumerate(self.containers):
            yield f"containers[{index}]", item


class Metadata(Part, frozen=True):
    """The metadata that a controller's pods get from its template."""

    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class PodTemplate(Part, frozen=True):
    """A Pod, or the template of a controller's pods."""

    spec: PodSpec
    metadata: Metadata = Metadata()


class JobSpec(Part, frozen=True):
    """The spec of a Job."""

    template: PodTemplate
    parallelism: Amount = 1
    completions: Amount | None = None
    suspend: bool = False

    @property
    def pods(self) -> int:
        return self.parallelism if self.completions is None else self.completions


class Job(Part, frozen=True):
    """A Job."""

    spec: JobSpec


class JobTemplate(Part, frozen=True):
    """The template of a CronJob's Jobs."""

    spec: JobSpec


class CronJobSpec(Part, frozen=True):
    """The spec of a CronJob."""

    job_template: JobTemplate


class CronJob(Part, frozen=True):
    """A CronJob."""

    spec: CronJobSpec


class ReplicatedSpec(Part, frozen=True):
    """The spec of a Deployment, ReplicaSet or StatefulSet; of a DaemonSet, once nodes are known."""

    template: PodTemplate
    replicas: Amount = 1
    suspend: bool = False


class Replicated(Part, frozen=True):
    """A Deployment, ReplicaSet, StatefulSet or DaemonSet."""

    spec: ReplicatedSpec


class Alternative(Part, frozen=True):
    """A request for devices of one class: `exactly`, or an entry of `firstAvailable`."""

    device_class_name: str
    name: str = ""
    admin_access: bool = False
    tolerations: list[Items] | None = None
    capacity: Items | None = None


class Request(Part, frozen=True):
    """A request of a claim."""

    name: str
    exactly: Alternative | None = None
    first_available: list[Alternative] | None = None

    @property
    def alternatives(self) -> list[Alternative]:
        """The ways to satisfy it."""
        return self.first_available or ([self.exactly] if self.exactly else [])


class Constraint(Part, frozen=True):
    """A constraint of a claim."""

    distinct_attribute: str | None = None


class Devices(Part, frozen=True):
    """The requests of a claim, and their constraints."""

    requests: list[Request] = []
    constraints: list[Constraint] = []


class ClaimSpec(Part, frozen=True):
    """The spec of a claim."""

    devices: Devices = Devices()

    @property
    def alternatives(self) -> Iterator[Alternative]:
        """The ways to satisfy each of its requests."""
        for request in self.devices.requests:
            yield from request.alternatives

    @property
    def request_names(self) -> set[str]:
        """The names that a container may use: those of the requests."""
        return {request.name for request in self.devices.requests}


class Claim(Part, frozen=True):
    """A ResourceClaim, or the template of one below `spec`."""

    spec: ClaimSpec


class Template(Part, frozen=True):
    """A ResourceClaimTemplate."""

    spec: Claim


class PodGroupSpec(Part, frozen=True):
    """The spec of a PodGroup."""

    resource_claims: list[Entry] | None = None


class PodGroup(Part, frozen=True):
    """A PodGroup, whose pods use its claims together."""

    spec: PodGroupSpec


BY_KIND: dict[str, type[Part]] = {
    "Pod": PodTemplate,
    "Job": Job,
    "CronJob": CronJob,
    **dict.fromkeys(("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"), Replicated),
    "PodGroup": PodGroup,
    "ResourceClaim": Claim,
    "ResourceClaimTemplate": Template,
}
"""The kinds that users create, or whose pods they create."""


def of(manifest: Items) -> Any:
    """Return the parts of a manifest; its kind is one of BY_KIND.

    Raises msgspec.ValidationError, which names the key, for a part of another type.
    """
    return msgspec.convert(manifest, BY_KIND[manifest["kind"]])


def pod_template(template: Items) -> PodTemplate:
    """Return the parts of a Pod or of a pods' template."""
    return msgspec.convert(template, PodTemplate)
