"""The objects of an import, and what it leaves out of them."""

import dataclasses
from collections import Counter
from collections.abc import Iterable

from harness.model.objects import Object

NODE, SLICE, CLASS, RULE = "Node", "ResourceSlice", "DeviceClass", "DeviceTaintRule"
CLAIM, TEMPLATE, POD = "ResourceClaim", "ResourceClaimTemplate", "Pod"
POD_TEMPLATES = {
    POD: (),
    "Job": ("spec", "template"),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
    "Deployment": ("spec", "template"),
    "ReplicaSet": ("spec", "template"),
}
"""Kinds whose pods a run makes -> the keys down to the pods' template."""
KINDS = (NODE, SLICE, CLASS, RULE, CLAIM, TEMPLATE, *POD_TEMPLATES)


class Notes:
    """Sentences about what is left out, or added, each once and with its number."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, what: str, count: int = 1) -> None:
        """Note something of which there are several; `what` is in the singular."""
        self._counts[what] += count

    @property
    def lines(self) -> list[str]:
        """The sentences, in the order in which they were noted first."""
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
    notes: Notes = dataclasses.field(default_factory=Notes)

    def add(self, objects: Iterable[Object]) -> None:
        """Take objects; those of other kinds are noted and left out."""
        for obj in objects:
            self._list(obj).append(obj)

    def _list(self, obj: Object) -> list[Object]:
        lists = {
            NODE: self.nodes,
            SLICE: self.slices,
            CLASS: self.classes,
            RULE: self.rules,
            CLAIM: self.claims,
            TEMPLATE: self.templates,
            **dict.fromkeys(POD_TEMPLATES, self.workloads),
        }
        if (found := lists.get(obj["kind"])) is not None:
            return found
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


def pod_template(workload: Object) -> Object:
    """Return the part of a workload that has the `metadata` and `spec` of its pods."""
    found = workload
    for key in POD_TEMPLATES[workload["kind"]]:
        found = found.get(key) or {}
    return found


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
