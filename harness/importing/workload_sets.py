"""Divides workloads into files: what belongs together is one, with its claims and templates."""

import dataclasses
from collections.abc import Iterator, Sequence

from harness.importing import materials, pods
from harness.model.objects import Object

SETS_MAX = 32
"""Files of `traffic.objects` that a scenario may have."""
IMPLICIT = "deviceclass.resource.kubernetes.io/"
_V1 = "resource.k8s.io/v1"
Key = tuple[str, str]
"""Namespace and name."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadSet:
    """The objects of a file, claims and templates first."""

    name: str
    objects: Sequence[Object]

    @property
    def pods(self) -> int:
        """Return how many pods one user makes of it."""
        return sum(_pods_of(obj) for obj in self.objects if obj["kind"] in materials.POD_TEMPLATES)


def divide(found: materials.Materials) -> list[WorkloadSet]:
    """Return the sets of an import; without workloads a pod for each template, claim or class."""
    divider = _Divider(found)
    sets = list(divider.sets()) or list(divider.added_sets())
    if len(sets) > SETS_MAX:
        found.notes.add(
            "left out: file of a workload beyond the most that a scenario has", len(sets) - SETS_MAX
        )
    return [
        dataclasses.replace(one, name=name)
        for one, name in zip(sets[:SETS_MAX], _unique([one.name for one in sets]), strict=False)
    ]


def _unique(names: list[str]) -> list[str]:
    """Return names that can be those of files side by side."""
    found: dict[str, None] = {}
    for name in names:
        free = name
        while free in found or free in ("slices", "classes"):
            free = f"{name}-{len(found)}"
        found[free] = None
    return list(found)


class _Divider:
    def __init__(self, found: materials.Materials) -> None:
        self._found, self._notes = found, found.notes
        self._classes = {materials.name_of(obj) for obj in found.classes}
        self._resources = {*_resources(found.classes)}
        self._templates = self._usable(found.templates)
        self._claims = self._usable(found.claims)

    def _usable(self, objects: list[Object]) -> dict[Key, Object]:
        usable = {}
        for obj in objects:
            name = materials.name_of(obj)
            wanted = {
                str(item.get("deviceClassName"))
                for item in materials.requested(materials.claim_spec(obj))
            }
            if missing := sorted(wanted - self._classes):
                self._notes.add(
                    f"left out: {obj['kind']} {name}: DeviceClass {missing[0]} is not there"
                )
                continue
            usable[materials.namespace_of(obj), name] = _named(obj)
        return usable

    # ------------------------------------------------------------------ given workloads

    def sets(self) -> Iterator[WorkloadSet]:
        """Yield the sets of the workloads that can be used."""
        usable = [obj for obj in self._found.workloads if self._is_usable(obj)]
        used: set[Key] = set()
        for group in _grouped(usable):
            shared, templates = self._needed(group)
            used |= shared.keys() | templates.keys()
            made = [pods.cut_down(obj, self._resources, self._notes) for obj in group]
            objects = [*shared.values(), *templates.values(), *made]
            yield WorkloadSet(name=materials.name_of(group[0]), objects=objects)
        if usable:
            self._note_unused(used)

    def _needed(self, group: list[Object]) -> tuple[dict[Key, Object], dict[Key, Object]]:
        shared, templates = {}, {}
        for obj in group:
            space = materials.namespace_of(obj)
            for entry in _entries(obj):
                if name := entry.get("resourceClaimName"):
                    shared[space, name] = self._claims[space, name]
                elif name := entry.get("resourceClaimTemplateName"):
                    templates[space, name] = self._templates[space, name]
        return shared, templates

    def _note_unused(self, used: set[Key]) -> None:
        for objects in (self._templates, self._claims):
            for key, obj in objects.items():
                if key not in used:
                    self._notes.add(f"left out: {obj['kind']} {key[1]}, which no workload uses")

    def _is_usable(self, obj: Object) -> bool:
        """Return whether a run can make the pods of a workload, and note why not."""
        if why := self._objection(obj):
            self._notes.add(f"left out: {obj['kind']} {materials.name_of(obj)}: {why}")
        return not why

    def _objection(self, obj: Object) -> str:
        space, spec = materials.namespace_of(obj), obj.get("spec") or {}
        if spec.get("suspend") or not _pods_of(obj):
            return "it makes no pods"
        if _is_of_controller(obj):
            return "a controller has made it"
        entries = _entries(obj)
        if not entries and not self._asks_resources(obj):
            return "its pods have no claims"
        for entry in entries:
            name = entry.get("resourceClaimName") or entry.get("resourceClaimTemplateName")
            known = self._claims if entry.get("resourceClaimName") else self._templates
            if (space, name) not in known:
                return f"{name}, which it uses, is not there"
        return ""

    def _asks_resources(self, obj: Object) -> bool:
        """Return whether a container asks for an extended resource of a class."""
        return any(
            name in self._resources
            for container in _containers(obj)
            for name in ((container.get("resources") or {}).get("limits") or {})
        )

    # ------------------------------------------------------------------ added workloads

    def added_sets(self) -> Iterator[WorkloadSet]:
        """Yield a pod for each template and claim; without any, for each class."""
        specs: list[Object] = []
        asked = [*self._templates.values(), *self._claims.values()]
        for obj in asked or [_of_class(name) for name in sorted(self._classes)]:
            if (spec := materials.claim_spec(obj)) in specs:
                self._notes.add(f"left out: {obj['kind']} like another one")
                continue
            specs.append(spec)
            self._notes.add(f"added: a Pod for each {obj['kind']}")
            name = materials.name_of(obj)
            yield WorkloadSet(name=name, objects=[obj, _pod_for(obj)])


def _resources(classes: list[Object]) -> Iterator[str]:
    """Yield the extended resources that classes offer."""
    for obj in classes:
        yield IMPLICIT + materials.name_of(obj)
        if name := obj["spec"].get("extendedResourceName"):
            yield name


def _named(obj: Object) -> Object:
    metadata = {"name": materials.name_of(obj)}
    return {
        "apiVersion": _V1,
        "kind": obj["kind"],
        "metadata": metadata,
        "spec": obj.get("spec") or {},
    }


def _of_class(name: str) -> Object:
    request = {"name": "device", "exactly": {"deviceClassName": name}}
    return {
        "apiVersion": _V1,
        "kind": materials.TEMPLATE,
        "metadata": {"name": name},
        "spec": {"spec": {"devices": {"requests": [request]}}},
    }


def _pod_for(obj: Object) -> Object:
    key = "resourceClaimTemplateName" if obj["kind"] == materials.TEMPLATE else "resourceClaimName"
    container = {"name": "main", "image": "none", "resources": {"claims": [{"name": "devices"}]}}
    return {
        "apiVersion": "v1",
        "kind": materials.POD,
        "metadata": {"name": "pod"},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "containers": [container],
            "resourceClaims": [{"name": "devices", key: materials.name_of(obj)}],
        },
    }


def _grouped(workloads: list[Object]) -> list[list[Object]]:
    """Return the workloads in groups that share claims."""
    groups: list[tuple[set[Key], list[Object]]] = []
    for obj in workloads:
        space = materials.namespace_of(obj)
        names = {
            (space, entry["resourceClaimName"])
            for entry in _entries(obj)
            if entry.get("resourceClaimName")
        }
        joined = [group for group in groups if group[0] & names]
        members = [other for group in joined for other in group[1]] + [obj]
        groups = [group for group in groups if group not in joined]
        groups.append((names.union(*(group[0] for group in joined)), members))
    return [members for _, members in groups]


def _entries(obj: Object) -> list[Object]:
    entries: list[Object] = (materials.pod_template(obj).get("spec") or {}).get(
        "resourceClaims"
    ) or []
    return entries


def _containers(obj: Object) -> list[Object]:
    spec = materials.pod_template(obj).get("spec") or {}
    return [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]


_MARKS = (
    "pod-template-hash",
    "batch.kubernetes.io/job-name",
    "controller-revision-hash",
    "job-name",
)
"""Labels of pods that a controller has made."""


def _is_of_controller(obj: Object) -> bool:
    labels = (obj.get("metadata") or {}).get("labels") or {}
    return obj["kind"] in (materials.POD, "ReplicaSet") and bool({*_MARKS} & {*labels})


def _pods_of(obj: Object) -> int:
    spec = obj.get("spec") or {}
    if obj["kind"] == "CronJob":
        spec = (spec.get("jobTemplate") or {}).get("spec") or {}
    if obj["kind"] in ("Deployment", "ReplicaSet"):
        return int(1 if (count := spec.get("replicas")) is None else count)
    if obj["kind"] == materials.POD:
        return 1
    return int(spec.get("completions") or spec.get("parallelism") or 1)
