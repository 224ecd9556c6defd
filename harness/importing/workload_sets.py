"""Divides workloads into files: what belongs together is one, with its claims and templates."""

import dataclasses
from collections.abc import Iterator, Sequence

from harness.importing import materials, pods
from harness.manifests import sources, workload_kinds
from harness.model.objects import Object
from harness.scenario.object_sets import reading

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
    pods: int = 1
    """Pods that one user makes of it."""


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
        self._nodes = len(found.nodes) * found.copies
        self._groups = {
            (materials.namespace_of(obj), materials.name_of(obj)): obj
            for obj in found.pod_groups
            if self._is_usable(obj)
        }
        self._by_name = {
            (materials.namespace_of(obj), _what(obj)): (obj, _parts(obj)) for obj in found.workloads
        }

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
        usable = [part for obj in self._found.workloads for part in self._usable_parts(obj)]
        used: set[tuple[str, Key]] = set()
        for members in _grouped(usable):
            needed = self._needed(members)
            used |= {(obj["kind"], key) for key, obj in needed}
            made = [
                pods.cut_down(obj, self._resources, self._notes, nodes=self._nodes)
                for obj in members
            ]
            count = sum(_pods_of(obj, self._nodes) for obj in made)
            objects = [*(self._cut_group(obj, count) for _, obj in needed), *made]
            yield WorkloadSet(name=materials.name_of(members[0]), objects=objects, pods=count)
        if usable:
            self._note_unused(used)

    def _needed(self, members: list[Object]) -> list[tuple[Key, Object]]:
        found: dict[tuple[str, Key], Object] = {}
        groups = {
            (materials.namespace_of(obj), name) for obj in members if (name := _group_of(obj))
        }
        users = [*members, *(self._groups[key] for key in groups)]
        entries = [(materials.namespace_of(obj), item) for obj in users for item in _entries(obj)]
        for kind, field, known in (
            (materials.CLAIM, "resourceClaimName", self._claims),
            (materials.TEMPLATE, "resourceClaimTemplateName", self._templates),
        ):
            keys = [(space, entry[field]) for space, entry in entries if entry.get(field)]
            found |= {(kind, key): known[key] for key in keys}
        found |= {(materials.POD_GROUP, key): self._groups[key] for key in sorted(groups)}
        return [(key, obj) for (_, key), obj in found.items()]

    def _cut_group(self, obj: Object, pods_of_it: int) -> Object:
        """Return a PodGroup without what a run decides; other objects as they are."""
        if obj["kind"] != materials.POD_GROUP:
            return obj
        spec = {key: value for key, value in obj["spec"].items() if key not in reading.OF_GROUP}
        for key in obj["spec"].keys() - spec.keys():
            self._notes.add(f"left out: {key} of a PodGroup")
        gang = (spec.get("schedulingPolicy") or {}).get("gang") or {}
        if gang.get("minCount", 0) > pods_of_it:
            self._notes.add(f"cut down: minCount from {gang['minCount']} to {pods_of_it}")
            spec["schedulingPolicy"] = {"gang": {**gang, "minCount": pods_of_it}}
        return {**_named(obj), "apiVersion": obj["apiVersion"], "spec": spec}

    def _note_unused(self, used: set[tuple[str, Key]]) -> None:
        for objects in (self._templates, self._claims, self._groups):
            for key, obj in objects.items():
                if (obj["kind"], key) not in used:
                    self._notes.add(f"left out: {obj['kind']} {key[1]}, which no workload uses")

    def _usable_parts(self, obj: Object) -> list[Object]:
        """Return what a run can make of a workload, and note what becomes of it and why."""
        what = _what(obj)
        if maker := self._maker(obj):
            self._notes.add(f"left out: {what}: {maker} has made it")
            return []
        if not (parts := _parts(obj)):
            self._notes.add(f"left out: {what}: it makes no pods")
        usable = [part for part in parts if self._is_usable(part)]
        for part in usable if workload_kinds.parts_of(obj) else ():
            self._notes.add(f"added: {_what(part)} for pods of {what}")
        for text in workload_kinds.unused(obj) if usable else ():
            self._notes.add(f"left out: {text}")
        return usable

    def _maker(self, obj: Object, behind: tuple[str, ...] = ()) -> str:
        """Return what has made a workload, if that is imported itself, or its own maker is."""
        for reference in obj["metadata"].get("ownerReferences") or ():
            what = f"{reference.get('kind')} {reference.get('name')}"
            owner, parts = self._by_name.get((materials.namespace_of(obj), what), (obj, []))
            if owner is obj or what in behind:
                continue
            if not all(map(self._objection, parts)) or self._maker(owner, (*behind, what)):
                return what
        return ""

    def _is_usable(self, obj: Object) -> bool:
        if why := self._objection(obj):
            self._notes.add(f"left out: {_what(obj)}: {why}")
        return not why

    def _objection(self, obj: Object) -> str:
        space, is_group = materials.namespace_of(obj), obj["kind"] == materials.POD_GROUP
        entries = _entries(obj)
        if (obj.get("spec") or {}).get("suspend"):
            return "suspend is true, so that it makes no pods"
        if not is_group and not _pods_of(obj, self._nodes):
            return "it makes no pods"
        if not is_group and not entries and not self._asks_resources(obj):
            return "its pods have no claims"
        for entry in entries:
            name = entry.get("resourceClaimName") or entry.get("resourceClaimTemplateName")
            known = self._claims if entry.get("resourceClaimName") else self._templates
            if (space, name) not in known:
                return f"{name}, which it uses, is not there"
        if not is_group and (name := _group_of(obj)) and (space, name) not in self._groups:
            return f"PodGroup {name}, which it uses, is not there"
        return ""

    def _asks_resources(self, obj: Object) -> bool:
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


def _what(obj: Object) -> str:
    return f"{obj['kind']} {materials.name_of(obj)}"


def _parts(obj: Object) -> list[Object]:
    manifest = sources.Manifest(obj=obj, source=sources.Source(path=""))
    return [one.obj for one in workload_kinds.expanded(manifest)]


def _grouped(workloads: list[Object]) -> list[list[Object]]:
    groups: list[tuple[set[Key], list[Object]]] = []
    for obj in workloads:
        space = materials.namespace_of(obj)
        names = {
            (space, entry["resourceClaimName"])
            for entry in _entries(obj)
            if entry.get("resourceClaimName")
        }
        if group := _group_of(obj):
            names.add((f"{space}/{materials.POD_GROUP}", group))
        joined = [group for group in groups if group[0] & names]
        members = [other for group in joined for other in group[1]] + [obj]
        groups = [group for group in groups if group not in joined]
        groups.append((names.union(*(group[0] for group in joined)), members))
    return [members for _, members in groups]


def _entries(obj: Object) -> list[Object]:
    is_group = obj["kind"] == materials.POD_GROUP
    spec = (obj.get("spec") or {}) if is_group else _pod_spec(obj)
    return spec.get("resourceClaims") or []


def _group_of(obj: Object) -> str:
    """Return the name of the PodGroup of a workload's pods; empty: they have none."""
    return (_pod_spec(obj).get("schedulingGroup") or {}).get("podGroupName") or ""


def _containers(obj: Object) -> list[Object]:
    spec = _pod_spec(obj)
    return [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]


def _pod_spec(obj: Object) -> Object:
    return materials.pod_template(obj).get("spec") or {}


def _pods_of(obj: Object, nodes: int) -> int:
    spec = obj.get("spec") or {}
    if obj["kind"] == "CronJob":
        spec = (spec.get("jobTemplate") or {}).get("spec") or {}
    if obj["kind"] == workload_kinds.PER_NODE:
        return nodes
    if obj["kind"] in (materials.POD, "Job", "CronJob"):
        return int(spec.get("completions") or spec.get("parallelism") or 1)
    return int(1 if (count := spec.get("replicas")) is None else count)
