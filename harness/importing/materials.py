"""The objects of an import, what it leaves out of them, and what it adds to them."""

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator

from harness.client import apis
from harness.manifests import places, workload_kinds
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
V1 = "resource.k8s.io/v1"
HOSTNAME = "kubernetes.io/hostname"
NODES_MIN = 4
"""Nodes that a run has at least, by copies: with fewer of them little happens at once."""
_LISTS = {
    NODE: "nodes",
    SLICE: "slices",
    CLASS: "classes",
    RULE: "rules",
    CLAIM: "claims",
    TEMPLATE: "templates",
    POD_GROUP: "pod_groups",
}
_GENERATED = {
    "resource.kubernetes.io/pod-claim-name",
    "resource.kubernetes.io/extended-resource-claim",
}
"""Annotations of claims that a controller or a scheduler has made."""
_OF_CONDITIONS = "node.kubernetes.io/"
"""Begin of the taints by which Kubernetes marks nodes that are not ready."""
_TERMS = "nodeSelector.nodeSelectorTerms[]"


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
        for obj in objects:
            marks = obj["metadata"].get("annotations") or {}
            if obj["kind"] == CLAIM and _GENERATED & {*marks}:
                self.notes.add("left out: ResourceClaim that was made for a pod")
            elif is_workload(obj):
                self.workloads.append(obj)
            elif obj["kind"] in _LISTS and not is_foreign(obj):
                getattr(self, _LISTS[obj["kind"]]).append(obj)
            else:
                self.notes.add(f"left out: {obj['kind']} of {obj.get('apiVersion')}")

    def complete(self) -> None:
        """Cut all down to what a run can use, and add nodes and classes that are missing."""
        self.slices = [plain(obj) for obj in self.slices]
        names: set[str] = set()
        for number, obj in enumerate(self.slices):
            if obj["metadata"]["name"] in names:  # a name that the server was to generate
                obj["metadata"]["name"] += f"-{number}"
            names.add(obj["metadata"]["name"])
        self.nodes = list(self._used_nodes())
        self.classes = [plain(obj) for obj in self.classes] or list(self._added_classes())
        self.rules = [plain(obj) for obj in self.rules]

    def _used_nodes(self) -> Iterator[Object]:
        parts = [
            part
            for obj in self.slices
            for place in ("spec", "spec.devices[]")
            for part in places.tables(obj, place)
        ]
        named = _found(parts, "nodeName") | _found(parts, f"{_TERMS}.matchFields[].values[]")
        keys = _found(parts, f"{_TERMS}.matchExpressions[].key")
        is_any = any(part.get("allNodes") for part in parts)
        for node in self.nodes:
            name, labels = name_of(node), node["metadata"].get("labels") or {}
            if name not in named and not is_any and not keys.keys() & labels.keys():
                self.notes.add("left out: Node without devices")
                continue
            named.pop(name, None)
            for taint in places.tables(node, "spec.taints[]"):
                if not str(taint.get("key")).startswith(_OF_CONDITIONS):
                    self.notes.add(f"left out: the taint {taint.get('key')} of a Node")
            yield _node(name, labels, places.value(node, "status.allocatable"))
        for name in list(named) or ([] if self.nodes else ["node-1"]):
            self.notes.add("added: Node that is not there, but slices are for it")
            yield _node(name, {}, None)

    def _added_classes(self) -> Iterator[Object]:
        for driver in dict.fromkeys(str(obj["spec"].get("driver")) for obj in self.slices):
            self.notes.add(f"added: DeviceClass {driver}, for the devices of this driver")
            selector = {"cel": {"expression": f'device.driver == "{driver}"'}}
            yield made(CLASS, driver, {"selectors": [selector]})


def _found(parts: list[Object], place: str) -> dict[str, None]:
    return dict.fromkeys(found for part in parts for found in places.each(part, place) if found)


def _node(name: str, labels: Object, allocatable: Object | None) -> Object:
    metadata = {"name": name, "labels": {HOSTNAME: name, **labels}}
    node: Object = {"apiVersion": "v1", "kind": NODE, "metadata": metadata}
    return {**node, "status": {"allocatable": allocatable}} if allocatable else node


def made(kind: str, name: str, spec: Object, *, version: str = V1) -> Object:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}


def plain(obj: Object) -> Object:
    return made(obj["kind"], name_of(obj), obj.get("spec") or {}, version=obj["apiVersion"])


def name_of(obj: Object) -> str:
    """Return the name of an object; for one that the server names, what the name begins with."""
    metadata = obj.get("metadata") or {}
    return str(
        metadata.get("name") or str(metadata.get("generateName", "")).rstrip("-.") or "unnamed"
    )


def is_foreign(obj: Object) -> bool:
    return bool(obj["kind"] == POD_GROUP and obj["apiVersion"] != cluster_features.GROUPS_API)


def is_workload(obj: Object) -> bool:
    return bool(obj["kind"] in workload_kinds.TEMPLATES or workload_kinds.parts_of(obj))


def pod_template(workload: Object) -> Object:
    return places.value(workload, workload_kinds.TEMPLATES[workload["kind"]]) or {}


def claim_spec(obj: Object) -> Object:
    return places.value(obj, "spec.spec" if obj["kind"] == TEMPLATE else "spec") or {}
