"""The objects of an import, and what it leaves out of them."""

import dataclasses
from collections import Counter
from collections.abc import Iterable

from harness.client import apis
from harness.manifests import workload_kinds
from harness.model.objects import Object
from harness.scenario import cluster_features

NODE, SLICE, CLASS, RULE = "Node", "ResourceSlice", "DeviceClass", "DeviceTaintRule"
CLAIM, TEMPLATE, POD = "ResourceClaim", "ResourceClaimTemplate", "Pod"
POD_GROUP = "PodGroup"
WORKLOADS = {
    kind: apis.Resource(group, "v1", f"{kind.lower()}s", kind, namespaced=True)
    for kind in workload_kinds.TEMPLATES
    for group in [{"Pod": "", "Job": "batch", "CronJob": "batch"}.get(kind, "apps")]
}
"""Kinds of Kubernetes that make pods -> their resource."""
NODES_MIN = 4
"""Nodes that a run has at least, by copies: with fewer of them little happens at once."""
_GENERATED = (
    "resource.kubernetes.io/pod-claim-name",
    "resource.kubernetes.io/extended-resource-claim",
)
"""Annotations of claims that a controller or a scheduler has made."""


class Notes:
    """Sentences about what is left out, or added, each once and with its number."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, what: str, count: int = 1) -> None:
        """Note something of which there are several; `what` is in the singular."""
        self._counts[what] += count

    @property
    def lines(self) -> list[str]:
        return [
            f"{what} ({count} times)" if count > 1 else what for what, count in self._counts.items()
        ]


@dataclasses.dataclass(kw_only=True)
class Materials:
    """The objects that an import uses, by what they are for."""

    nodes: list[Object] = dataclasses.field(default_factory=list)
    slices: list[Object] = dataclasses.field(default_factory=list)
    classes: list[Object] = dataclasses.field(default_factory=list)
    rules: list[Object] = dataclasses.field(default_factory=list)
    claims: list[Object] = dataclasses.field(default_factory=list)
    templates: list[Object] = dataclasses.field(default_factory=list)
    workloads: list[Object] = dataclasses.field(default_factory=list)
    pod_groups: list[Object] = dataclasses.field(default_factory=list)
    notes: Notes = dataclasses.field(default_factory=Notes)

    @property
    def copies(self) -> int:
        return -(-NODES_MIN // max(1, len(self.nodes)))

    def add(self, objects: Iterable[Object]) -> None:
        """Take objects; those of other kinds are noted and left out."""
        for obj in objects:
            self._list(obj).append(obj)

    def _list(self, obj: Object) -> list[Object]:
        if {*_GENERATED} & {*(obj["metadata"].get("annotations") or {})} and obj["kind"] == CLAIM:
            self.notes.add("left out: ResourceClaim that was made for a pod")
            return []
        if is_workload(obj):
            return self.workloads
        lists = {
            NODE: self.nodes,
            SLICE: self.slices,
            CLASS: self.classes,
            RULE: self.rules,
            CLAIM: self.claims,
            TEMPLATE: self.templates,
            POD_GROUP: self.pod_groups,
        }
        if obj["kind"] in lists and not is_foreign(obj):
            return lists[obj["kind"]]
        self.notes.add(f"left out: {obj['kind']} of {obj.get('apiVersion')}")
        return []


def name_of(obj: Object) -> str:
    """Return the name of an object; for one that the server names, what the name begins with."""
    metadata = obj.get("metadata") or {}
    return str(
        metadata.get("name") or str(metadata.get("generateName", "")).rstrip("-.") or "unnamed"
    )


def namespace_of(obj: Object) -> str:
    """Return the namespace of an object; empty without one."""
    return str((obj.get("metadata") or {}).get("namespace", ""))


def is_foreign(obj: Object) -> bool:
    return (obj["kind"], obj["apiVersion"] == cluster_features.GROUPS_API) == (POD_GROUP, False)


def is_workload(obj: Object) -> bool:
    return bool(obj["kind"] in workload_kinds.TEMPLATES or workload_kinds.parts_of(obj))


def pod_template(workload: Object) -> Object:
    """Return the part of a workload that has the `metadata` and `spec` of its pods."""
    place = workload_kinds.TEMPLATES[workload["kind"]]
    found: Object | None = workload_kinds.value(workload, place) if place else workload
    return found or {}


def claim_spec(obj: Object) -> Object:
    """Return the spec of a claim, or of the claims that a template gives."""
    spec: Object = obj.get("spec") or {}
    return (spec.get("spec") or {}) if obj["kind"] == TEMPLATE else spec


def requested(spec: Object) -> list[Object]:
    """Return each request of a claim's spec, with the alternatives instead of their request."""
    found: list[Object] = []
    for request in (spec.get("devices") or {}).get("requests") or []:
        found += request.get("firstAvailable") or [request.get("exactly") or {}]
    return found
