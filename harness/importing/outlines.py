"""The parts of objects that an import reads, with their types; a run judges the rest."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from harness.importing import materials
from harness.manifests import sources
from harness.model.objects import Object

_Items = dict[str, Any]


class Part(msgspec.Struct, frozen=True, rename="camel"):
    """A part of an object; keys that are not listed are not read."""


class Cel(Part, frozen=True):
    """An expression."""

    expression: str = ""


class Selector(Part, frozen=True):
    """An entry of `selectors`."""

    cel: Cel | None = None


class Opaque(Part, frozen=True):
    """Parameters for a driver."""

    parameters: _Items | None = None


class Config(Part, frozen=True):
    """An entry of `config`."""

    opaque: Opaque | None = None


class Wanted(Part, frozen=True):
    """An entry of `matchExpressions` or `matchFields`."""

    key: str
    values: list[str] | None = None


class Term(Part, frozen=True):
    """A term of a node selector."""

    match_expressions: list[Wanted] | None = None
    match_fields: list[Wanted] | None = None


class NodeSelector(Part, frozen=True):
    """A selector of nodes."""

    node_selector_terms: list[Term] | None = None


class Attribute(Part, frozen=True):
    """An attribute of a device."""

    string: str | None = None
    strings: list[str] | None = None


class Place(Part, frozen=True):
    """Where the devices of a slice are, or one of them."""

    node_name: str | None = None
    node_selector: NodeSelector | None = None


class Device(Place, frozen=True):
    """A device of a slice."""

    name: str = ""
    attributes: dict[str, Attribute] | None = None
    capacity: _Items | None = None


class Pool(Part, frozen=True):
    """The pool of a slice."""

    name: str


class SliceSpec(Place, frozen=True, kw_only=True):
    """The spec of a ResourceSlice."""

    driver: str
    pool: Pool
    devices: list[Device] | None = None


class Chosen(Part, frozen=True):
    """The spec of a DeviceClass, or the `deviceSelector` of a rule."""

    selectors: list[Selector] | None = None
    config: list[Config] | None = None
    extended_resource_name: str | None = None
    device_class_name: str | None = None
    pool: str | None = None
    device: str | None = None


class RuleSpec(Part, frozen=True):
    """The spec of a DeviceTaintRule."""

    device_selector: Chosen | None = None


class Alternative(Part, frozen=True):
    """A request for devices of one class."""

    device_class_name: str
    selectors: list[Selector] | None = None


class Request(Part, frozen=True):
    """A request of a claim."""

    exactly: Alternative | None = None
    first_available: list[Alternative] | None = None


class Asked(Part, frozen=True):
    """The `devices` of a claim: requests and their configuration."""

    requests: list[Request] | None = None
    config: list[Config] | None = None


class ClaimSpec(Part, frozen=True):
    """The spec of a claim."""

    devices: Asked | None = None


class TemplateSpec(Part, frozen=True):
    """The spec of a ResourceClaimTemplate."""

    spec: ClaimSpec


class Meta(Part, frozen=True):
    """The metadata of an object."""

    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class NodeSpec(Part, frozen=True):
    """The spec of a node."""

    taints: list[_Items] | None = None


class NodeStatus(Part, frozen=True):
    """The status of a node."""

    allocatable: _Items | None = None


class Entry(Part, frozen=True):
    """An entry of a pod's `resourceClaims`."""

    name: str
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class Resources(Part, frozen=True):
    """The resources of a container."""

    requests: _Items | None = None
    limits: _Items | None = None
    claims: list[_Items] | None = None


class Container(Part, frozen=True):
    """A container."""

    name: str
    resources: Resources | None = None


class NodeAffinity(Part, frozen=True):
    """The affinity of a pod to nodes."""

    required: NodeSelector | None = msgspec.field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(Part, frozen=True):
    """The affinity of a pod."""

    node_affinity: NodeAffinity | None = None


class PodSpec(Part, frozen=True):
    """The spec of a pod."""

    containers: list[Container]
    init_containers: list[Container] | None = None
    resource_claims: list[Entry] | None = None
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None


class PodTemplate(Part, frozen=True):
    """The template of pods."""

    spec: PodSpec
    metadata: Meta | None = None


class Controlled(Part, frozen=True):
    """The spec of a Job, a Deployment or a ReplicaSet."""

    template: PodTemplate
    replicas: int | None = None
    completions: int | None = None
    parallelism: int | None = None


class JobTemplate(Part, frozen=True):
    """The template of Jobs."""

    spec: Controlled


class Scheduled(Part, frozen=True):
    """The spec of a CronJob."""

    job_template: JobTemplate


_SPECS: dict[str, type[Part]] = {
    materials.NODE: NodeSpec,
    materials.SLICE: SliceSpec,
    materials.CLASS: Chosen,
    materials.RULE: RuleSpec,
    materials.CLAIM: ClaimSpec,
    materials.TEMPLATE: TemplateSpec,
    materials.POD: PodSpec,
    "CronJob": Scheduled,
    **dict.fromkeys(("Job", "Deployment", "ReplicaSet"), Controlled),
}
_MAY_LACK = (materials.NODE, materials.CLASS)
"""Kinds that may have no spec."""


def checked(manifests: Iterable[sources.Manifest]) -> Iterator[Object]:
    """Yield the objects of manifests. Raises ManifestError for one of which a part is wrong."""
    for manifest in manifests:
        if why := _problem(manifest.obj):
            raise manifest.error(why)
        yield manifest.obj


def _problem(obj: Object) -> str:
    """Return which part of an object is none of its kind, as a sentence; empty: none that is read.

    Objects of kinds that an import leaves out have no problem.
    """
    kind = obj["kind"]
    if kind not in _SPECS:
        return ""
    parts: list[tuple[str, type[Part], Any]] = [("metadata", Meta, obj.get("metadata") or {})]
    if kind not in _MAY_LACK or obj.get("spec") is not None:
        parts.append(("spec", _SPECS[kind], obj.get("spec")))
    if kind == materials.NODE:
        parts.append(("status", NodeStatus, obj.get("status") or {}))
    return next((why for part in parts if (why := _why_not(*part))), "")


def _why_not(place: str, kind: type[Part], value: Any) -> str:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        said, _, path = str(error).partition(" - at `$")
        return f"{place}{path.rstrip('`')}: {said[:1].lower()}{said[1:]}"
    return ""
