"""The slices, nodes and classes of an import: cut down, and completed if some are missing."""

from collections.abc import Iterator

from harness.importing import materials
from harness.model.objects import Object

HOSTNAME = "kubernetes.io/hostname"
_OF_CONDITIONS = "node.kubernetes.io/"
"""Begin of the taints by which Kubernetes marks nodes that are not ready."""
_V1 = "resource.k8s.io/v1"


def complete(found: materials.Materials) -> None:
    """Cut the objects down to what a run can use, and add nodes and classes that are missing."""
    found.slices = list(_slices(found.slices))
    found.nodes = list(_nodes(found))
    found.classes = [_plain(obj) for obj in found.classes] or list(_added_classes(found))
    found.rules = [_plain(obj) for obj in found.rules]


def _plain(obj: Object) -> Object:
    """Return an object without metadata other than its name."""
    kept = {key: obj[key] for key in ("apiVersion", "kind")}
    return {**kept, "metadata": {"name": materials.name_of(obj)}, "spec": obj.get("spec") or {}}


def _slices(slices: list[Object]) -> Iterator[Object]:
    taken: set[str] = set()
    for number, obj in enumerate(slices):
        plain = _plain(obj)
        if plain["metadata"]["name"] in taken:  # a name that the server was to generate
            plain["metadata"]["name"] += f"-{number}"
        taken.add(plain["metadata"]["name"])
        yield plain


# ------------------------------------------------------------------------------- nodes


def _nodes(found: materials.Materials) -> Iterator[Object]:
    named = {name: None for obj in found.slices for name in _named(obj)}
    keys = {key for obj in found.slices for key in _selected_by(obj)}
    is_any = any(_is_for_all(obj) for obj in found.slices)
    for node in found.nodes:
        name, labels = materials.name_of(node), node["metadata"].get("labels") or {}
        if name not in named and not is_any and not keys & {*labels}:
            found.notes.add("left out: Node without devices")
            continue
        named.pop(name, None)
        for taint in (node.get("spec") or {}).get("taints") or []:
            if not str(taint.get("key")).startswith(_OF_CONDITIONS):
                found.notes.add(f"left out: the taint {taint.get('key')} of a Node")
        yield _node(name, labels, (node.get("status") or {}).get("allocatable"))
    missing = list(named) or ([] if found.nodes else ["node-1"])
    for name in missing:
        found.notes.add("added: Node that is not there, but slices are for it")
        yield _node(name, {}, None)


def _node(name: str, labels: Object, allocatable: Object | None) -> Object:
    node: Object = {
        "apiVersion": "v1",
        "kind": materials.NODE,
        "metadata": {"name": name, "labels": {HOSTNAME: name, **labels}},
    }
    return {**node, "status": {"allocatable": allocatable}} if allocatable else node


def _named(obj: Object) -> Iterator[str]:
    for part in (obj["spec"], *(obj["spec"].get("devices") or [])):
        if part.get("nodeName"):
            yield part["nodeName"]
        for term in node_terms(part):
            for field in term.get("matchFields") or []:
                yield from field.get("values") or []


def _selected_by(obj: Object) -> Iterator[str]:
    for part in (obj["spec"], *(obj["spec"].get("devices") or [])):
        for term in node_terms(part):
            for wanted in term.get("matchExpressions") or []:
                yield wanted["key"]


def _is_for_all(obj: Object) -> bool:
    spec = obj["spec"]
    return bool(spec.get("allNodes")) or any(
        device.get("allNodes") for device in spec.get("devices") or []
    )


def node_terms(part: Object) -> list[Object]:
    """Return the terms of the `nodeSelector` of a slice or a device."""
    terms: list[Object] = (part.get("nodeSelector") or {}).get("nodeSelectorTerms") or []
    return terms


# ----------------------------------------------------------------------------- classes


def _added_classes(found: materials.Materials) -> Iterator[Object]:
    for driver in dict.fromkeys(str(obj["spec"].get("driver")) for obj in found.slices):
        found.notes.add(f"added: DeviceClass {driver}, for the devices of this driver")
        yield {
            "apiVersion": _V1,
            "kind": materials.CLASS,
            "metadata": {"name": driver},
            "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{driver}"'}}]},
        }
