"""The parts of manifests that a run reads, with their types; the API server judges the rest."""

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec

from harness.manifests import sources, workload_kinds
from harness.manifests.workload_kinds import TEMPLATES

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


class Container(Part, frozen=True):
    """A container or an init container."""

    name: str
    resources: Items | None = None
    ports: list[Items] | None = None

    @property
    def amounts(self) -> set[str]:
        """The names of the resources that it asks for an amount of."""
        found = self.resources or {}
        return {*(found.get("requests") or ()), *(found.get("limits") or ())}


class PodSpec(Part, frozen=True):
    """The spec of a pod."""

    containers: list[Container]
    init_containers: list[Container] | None = None
    resource_claims: list[Entry] | None = None
    restart_policy: str = "Always"
    scheduling_gates: list[Items] | None = None
    topology_spread_constraints: list[Items] | None = None
    affinity: Items | None = None
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
    metadata: Items | None = None


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
    tolerations: list[Items] | None = None
    capacity: Items | None = None


class Request(Part, frozen=True):
    """A request of a claim."""

    name: str
    exactly: Alternative | None = None
    first_available: list[Alternative] | None = None


class Devices(Part, frozen=True):
    """The requests of a claim, and their constraints."""

    requests: list[Request] = []
    constraints: list[Items] = []


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
    **{kind: (at.rpartition(".")[0], Controller) for kind, at in TEMPLATES.items() if at},
    "PodGroup": ("spec", PodGroup),
    "ResourceClaim": ("spec", ClaimSpec),
    "ResourceClaimTemplate": ("spec.spec", ClaimSpec),
}
"""Kind -> the place of what is read of it, and its type."""
KINDS = tuple(_READ)
"""The kinds that users create, or whose pods they create."""


def of(manifest: Items) -> Any:
    """Return what is read of a manifest, whose kind is one of KINDS; see `_READ` for its type.

    Raises ValueError, which names the key, for a part of another type.
    """
    place, kind = _READ[manifest["kind"]]
    try:
        return msgspec.convert(workload_kinds.value(manifest, place) if place else manifest, kind)
    except msgspec.ValidationError as error:
        at, said = sources.misplaced(error, place)
        raise ValueError(f"{at}: {said}" if at else said) from error
