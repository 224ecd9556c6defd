"""Divides workloads into files: what belongs together is one, with its claims and templates."""

import dataclasses
from collections.abc import Iterator, Sequence

from harness.importing import materials, pods
from harness.manifests import places, sources, workload_kinds
from harness.model.objects import Object
from harness.scenario.object_sets import reading

SETS_MAX = 32
"""Files of `traffic.objects` that a scenario may have."""
IMPLICIT = "deviceclass.resource.kubernetes.io/"
_ENTRIES = {materials.CLAIM: "resourceClaimName", materials.TEMPLATE: "resourceClaimTemplateName"}
"""Kind -> the key by which a pod uses one."""
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
        own = {
            name for obj in found.classes for name in places.each(obj, "spec.extendedResourceName")
        }
        self._resources = {f"{IMPLICIT}{name}" for name in self._classes} | own
        self._nodes = len(found.nodes) * found.copies
        usable = [obj for obj in (*found.templates, *found.claims) if self._has_classes(obj)]
        self._known = {(obj["kind"], *_key(obj)): materials.plain(obj) for obj in usable}
        """Claims, templates and PodGroups that can be used, by kind, namespace and name."""
        groups = [obj for obj in found.pod_groups if self._is_usable(obj)]
        self._known |= {(obj["kind"], *_key(obj)): obj for obj in groups}
        self._by_name = {(_key(obj)[0], _what(obj)): (obj, _parts(obj)) for obj in found.workloads}

    def _has_classes(self, obj: Object) -> bool:
        wanted = {
            str(name)
            for one in ("exactly", "firstAvailable[]")
            for name in places.each(
                materials.claim_spec(obj), f"devices.requests[].{one}.deviceClassName"
            )
        }
        for missing in sorted(wanted - self._classes)[:1]:
            self._notes.add(f"left out: {_what(obj)}: DeviceClass {missing} is not there")
        return wanted <= self._classes

    # ------------------------------------------------------------------ given workloads

    def sets(self) -> Iterator[WorkloadSet]:
        usable = [part for obj in self._found.workloads for part in self._usable_parts(obj)]
        used: set[tuple[str, str, str]] = set()
        for members in _grouped(usable):
            needed = self._needed(members)
            used |= {*needed}
            made = [
                pods.cut_down(obj, self._resources, self._notes, nodes=self._nodes)
                for obj in members
            ]
            count = sum(pods.count(obj, self._nodes) for obj in made)
            objects = [self._cut_group(self._known[key], count) for key in needed]
            yield WorkloadSet(
                name=materials.name_of(members[0]), objects=[*objects, *made], pods=count
            )
        for kind, space, name in self._known if usable else ():
            if (kind, space, name) not in used:
                self._notes.add(f"left out: {kind} {name}, which no workload uses")

    def _needed(self, members: list[Object]) -> list[tuple[str, str, str]]:
        groups = sorted({(materials.POD_GROUP, *key) for obj in members for key in _groups(obj)})
        users = [*members, *(self._known[key] for key in groups)]
        keys = [(kind, *key) for kind in _ENTRIES for obj in users for key in _used(obj, kind)]
        return [*dict.fromkeys(keys), *groups]

    def _cut_group(self, obj: Object, pods_of_it: int) -> Object:
        """Return a PodGroup without what a run decides; other objects as they are."""
        if obj["kind"] != materials.POD_GROUP:
            return obj
        made = materials.plain(obj)
        spec = {key: value for key, value in made["spec"].items() if key not in reading.OF_GROUP}
        for key in made["spec"].keys() - spec.keys():
            self._notes.add(f"left out: {key} of a PodGroup")
        for gang in places.tables(spec, "schedulingPolicy.gang"):
            if gang.get("minCount", 0) > pods_of_it:
                self._notes.add(f"cut down: minCount from {gang['minCount']} to {pods_of_it}")
                spec["schedulingPolicy"] = {"gang": {**gang, "minCount": pods_of_it}}
        return {**made, "spec": spec}

    def _usable_parts(self, obj: Object) -> list[Object]:
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
            owner, parts = self._by_name.get((_key(obj)[0], what), (obj, []))
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
        if places.value(obj, "spec.suspend"):
            return "suspend is true, so that it makes no pods"
        uses = [(kind, *key) for kind in _ENTRIES for key in _used(obj, kind)]
        if obj["kind"] != materials.POD_GROUP:
            if not pods.count(obj, self._nodes):
                return "it makes no pods"
            limits = places.tables(pods.spec_of(obj), "containers[].resources.limits")
            if not uses and not any(self._resources & one.keys() for one in limits):
                return "its pods have no claims"
            uses += [(materials.POD_GROUP, *key) for key in _groups(obj)]
        for kind, space, name in uses:
            if (kind, space, name) not in self._known:
                of_group = f"{kind} " if kind == materials.POD_GROUP else ""
                return f"{of_group}{name}, which it uses, is not there"
        return ""

    # ------------------------------------------------------------------ added workloads

    def added_sets(self) -> Iterator[WorkloadSet]:
        specs: list[Object] = []
        asked = [obj for obj in self._known.values() if obj["kind"] in _ENTRIES]
        for obj in asked or [_of_class(name) for name in sorted(self._classes)]:
            if (spec := materials.claim_spec(obj)) in specs:
                self._notes.add(f"left out: {obj['kind']} like another one")
                continue
            specs.append(spec)
            self._notes.add(f"added: a Pod for each {obj['kind']}")
            name = materials.name_of(obj)
            yield WorkloadSet(name=name, objects=[obj, _pod_for(obj)])


def _of_class(name: str) -> Object:
    request = {"name": "device", "exactly": {"deviceClassName": name}}
    spec = {"spec": {"devices": {"requests": [request]}}}
    return materials.made(materials.TEMPLATE, name, spec)


def _pod_for(obj: Object) -> Object:
    container = {"name": "main", "image": "none", "resources": {"claims": [{"name": "devices"}]}}
    spec = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
        "resourceClaims": [{"name": "devices", _ENTRIES[obj["kind"]]: materials.name_of(obj)}],
    }
    return materials.made(materials.POD, "pod", spec, version="v1")


def _what(obj: Object) -> str:
    return f"{obj['kind']} {materials.name_of(obj)}"


def _parts(obj: Object) -> list[Object]:
    manifest = sources.Manifest(obj=obj, source=sources.Source(path=""))
    return [one.obj for one in workload_kinds.expanded(manifest)]


def _grouped(workloads: list[Object]) -> list[list[Object]]:
    groups: list[tuple[set[tuple[str, ...]], list[Object]]] = []
    for obj in workloads:
        names: set[tuple[str, ...]] = {*_used(obj, materials.CLAIM)}
        names |= {(*key, "") for key in _groups(obj)}
        joined = [group for group in groups if group[0] & names]
        members = [other for group in joined for other in group[1]] + [obj]
        groups = [group for group in groups if group not in joined]
        groups.append((names.union(*(group[0] for group in joined)), members))
    return [members for _, members in groups]


def _key(obj: Object) -> Key:
    return str(places.value(obj, "metadata.namespace") or ""), materials.name_of(obj)


def _used(obj: Object, kind: str) -> list[Key]:
    spec = obj.get("spec") if obj["kind"] == materials.POD_GROUP else pods.spec_of(obj)
    names = places.each(spec, f"resourceClaims[].{_ENTRIES[kind]}")
    return [(_key(obj)[0], name) for name in names]


def _groups(obj: Object) -> list[Key]:
    names = places.each(pods.spec_of(obj), "schedulingGroup.podGroupName")
    return [(_key(obj)[0], name) for name in names]
