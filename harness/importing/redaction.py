"""Replaces names and values that could tell whose cluster it is, the same by the same everywhere.

Kept are the names of drivers, attributes, capacities, labels and extended resources, numbers,
versions and amounts: by them devices are chosen. Selectors in CEL follow what is replaced.
"""

import dataclasses
import functools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from harness.importing import devices, materials, selector_answers, workload_sets
from harness.manifests import workload_kinds
from harness.model.objects import Object

_IDENTITY = re.compile(
    r"""[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}           # UUIDs
    | \b(pci)?[0-9a-fA-F]{4}:[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}\.[0-9a-fA-F])?\b # addresses, roots of PCI
    | \b([0-9a-fA-F]{2}[:-]){5,}[0-9a-fA-F]{2}\b                       # MAC addresses, GUIDs
    | \b\d{1,3}(\.\d{1,3}){3}\b | \b[0-9a-fA-F]{0,4}::[0-9a-fA-F:]*    # IP addresses
    | \b(?=[0-9A-Z]*\d)(?=[0-9A-Z]*[A-Z])[0-9A-Z]{10,}\b | \b\d{9,}\b  # serial numbers
    | \b(?=[\w.-]*[a-zA-Z])[\w-]+(\.[\w-]+){2,}\b                      # names of hosts
    """,
    re.VERBOSE,
)
_TELLING = re.compile(
    r"uuid|guid|serial|mac$|macaddress|address|busid|hostname|wwn|pcieroot|ifname|ipv[46]|networkname|alias|domainid",
    re.IGNORECASE,
)
"""Names of attributes whose text is replaced, whatever it looks like."""
_TOPOLOGY = re.compile(r"(zone|region)$")
_NAMES = {
    "nodeName": "node",
    "device": "device",
    "deviceClassName": "class",
    "resourceClaimName": "claim",
    "resourceClaimTemplateName": "template",
    "podGroupName": "group",
}
"""Key of a text -> kind of name."""
_NAMED_ITEMS = {
    "devices": "device",
    "containers": "container",
    "initContainers": "container",
    "resourceClaims": "entry",
    "claims": "entry",
}
"""Key of a list -> kind of the name of its items."""
_KINDS = {
    "ResourceSlice": "slice",
    "DeviceClass": "class",
    "DeviceTaintRule": "rule",
    materials.TEMPLATE: "template",
    materials.CLAIM: "claim",
    materials.POD_GROUP: "group",
}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_TYPE_KEYS = ("apiVersion", "kind")
REDACTED = "redacted"


def redacted(
    found: materials.Materials, sets: list[workload_sets.WorkloadSet]
) -> tuple[materials.Materials, list[workload_sets.WorkloadSet]]:
    """Return the materials and sets with other names and values.

    Each selector answers for each device as before. Texts that this needs stay, and are noted.
    """
    public = {*_public(found.slices)}
    kept: set[str] = set()
    while True:
        made, made_sets = _Redaction(public | kept).apply(found, sets)
        selectors = zip(_expressions(found, sets), _expressions(made, made_sets), strict=True)
        pairs = zip(_devices(found.slices), _devices(made.slices), strict=True)
        more = selector_answers.texts_to_keep(
            selectors, ((driver, old, new) for (driver, old), (_, new) in pairs)
        )
        if more <= kept:
            break
        kept |= more
    attributes = [
        item
        for _, device in _devices(found.slices)
        for item in (device.get("attributes") or {}).items()
    ]
    has_kept = {
        name for name, value in attributes if kept.intersection(selector_answers.texts_of(value))
    }
    for name in sorted(has_kept):
        found.notes.add(f"not redacted: {name}, by whose text selectors choose, and what they name")
    return made, made_sets


class _Redaction:
    """The replacements of one import."""

    def __init__(self, kept: set[str]) -> None:
        """`kept` are the texts that stay as they are."""
        self._names: dict[str, dict[str, str]] = {}
        self._values: dict[str, str] = {}
        self._kept = kept
        self._by_key: dict[str, Callable[[Any], Any]] = {
            "pool": self._pool,
            "attributes": self._attributes,
            "taint": self._taint,
            "taints": self._taints,
            "tolerations": self._taints,
            "expression": self._expression,
            "parameters": without_values,
            "matchExpressions": self._labels,
            "matchFields": self._fields,
            "nodeSelector": self._node_selector,
            "requests": self._amounts,
            "limits": self._amounts,
        }

    def apply(
        self, found: materials.Materials, sets: list[workload_sets.WorkloadSet]
    ) -> tuple[materials.Materials, list[workload_sets.WorkloadSet]]:
        """Return other materials and sets, with other names and values."""
        for node in found.nodes:
            self._name("node", materials.name_of(node))
        made = dataclasses.replace(
            found,
            slices=[self._object(obj) for obj in found.slices],
            classes=[self._object(obj) for obj in found.classes],
            rules=[self._object(obj) for obj in found.rules],
        )
        selected = {*_selected_labels(found, sets)}
        made.nodes = [self._node(obj, selected) for obj in found.nodes]
        return made, [self._set(one) for one in sets]

    # --------------------------------------------------------------------- replacing

    def _name(self, kind: str, name: str) -> str:
        names = self._names.setdefault(kind, {})
        return names.setdefault(name, f"{kind}-{len(names) + 1}")

    def _value(self, value: str, *, telling: bool = False) -> str:
        """Return a text, or what stands for it."""
        if value in self._kept:
            return value
        if value in self._values:
            return self._values[value]
        if value in self._names.get("node", {}):
            return self._names["node"][value]
        if telling or _IDENTITY.search(value):
            self._values[value] = f"{REDACTED}-{len(self._values) + 1}"
            return self._values[value]
        return value

    def _label(self, key: str, value: str) -> str:
        if _TOPOLOGY.search(key):
            return self._name(_TOPOLOGY.search(key)[1], value)  # type: ignore[index]
        return self._value(value, telling=key == devices.HOSTNAME)

    # ------------------------------------------------------------------------- parts

    def _walk(self, value: Any) -> Any:
        """Return a part of an object with other names and values, by the keys where they stand."""
        match value:
            case Mapping():
                return {key: self._part(key, item) for key, item in value.items()}
            case list():
                return [self._walk(item) for item in value]
        return value

    def _part(self, key: str, value: Any) -> Any:
        if isinstance(value, str) and key in _NAMES:
            return self._name(_NAMES[key], value)
        if isinstance(value, list) and key in _NAMED_ITEMS:
            return [self._named(_NAMED_ITEMS[key], item) for item in value]
        if value and key in self._by_key:
            return self._by_key[key](value)
        return self._walk(value)

    def _named(self, kind: str, item: Object) -> Object:
        image = {"image": "none"} if kind == "container" else {}
        return {**self._walk(item), **image, "name": self._name(kind, str(item.get("name")))}

    def _pool(self, pool: Any) -> Any:
        if isinstance(pool, Mapping):
            return {**pool, "name": self._pool(str(pool.get("name")))}
        return self._names.get("node", {}).get(pool) or self._name("pool", pool)

    def _attributes(self, attributes: Mapping[str, Object]) -> Object:
        return {name: self._attribute(name, item) for name, item in attributes.items()}

    def _attribute(self, name: str, attribute: Object) -> Object:
        is_telling = bool(_TELLING.search(name))
        kept = dict(attribute)
        if isinstance(attribute.get("string"), str):
            kept["string"] = self._value(attribute["string"], telling=is_telling)
        if isinstance(attribute.get("strings"), list):
            kept["strings"] = [
                self._value(item, telling=is_telling) for item in attribute["strings"]
            ]
        return kept

    def _taint(self, taint: Object) -> Object:
        """Return a taint or a toleration with another value."""
        kept = {key: value for key, value in taint.items() if key != "timeAdded"}
        if taint.get("value"):
            kept["value"] = self._name("taint", taint["value"])
        return kept

    def _taints(self, taints: list[Object]) -> list[Object]:
        return [self._taint(item) for item in taints]

    def _expression(self, text: str) -> str:
        """Return CEL without comments in which quoted texts are replaced as the attributes are."""
        return selector_answers.LITERAL.sub(self._literal, text)

    def _literal(self, found: re.Match[str]) -> str:
        quote = found[0][0]
        if quote == "/":
            return found[0] if found[0][1:-1] in self._kept else ""
        return f"{quote}{self._value(found[0][1:-1])}{quote}"

    def _labels(self, wanted: list[Object]) -> list[Object]:
        return [_of_values(item, functools.partial(self._label, item["key"])) for item in wanted]

    def _fields(self, wanted: list[Object]) -> list[Object]:
        return [_of_values(item, functools.partial(self._name, "node")) for item in wanted]

    def _node_selector(self, selector: Object) -> Object:
        if "nodeSelectorTerms" in selector:
            return {"nodeSelectorTerms": self._walk(selector["nodeSelectorTerms"])}
        return {key: self._label(key, value) for key, value in selector.items()}

    def _amounts(self, amounts: Any) -> Any:
        if not isinstance(amounts, Mapping):
            return self._walk(amounts)  # the requests of a claim
        return {self._resource(name): value for name, value in amounts.items()}

    def _resource(self, name: str) -> str:
        class_name = name.removeprefix(workload_sets.IMPLICIT)
        if class_name == name:
            return name
        return workload_sets.IMPLICIT + self._name("class", class_name)

    # ----------------------------------------------------------------------- objects

    def _node(self, obj: Object, selected: set[str]) -> Object:
        labels = {
            key: self._label(key, value)
            for key, value in obj["metadata"]["labels"].items()
            if key in selected or key == devices.HOSTNAME or _TOPOLOGY.search(key)
        }
        return {
            **obj,
            "metadata": {"name": self._name("node", materials.name_of(obj)), "labels": labels},
        }

    def _object(self, obj: Object) -> Object:
        kind = _KINDS.get(obj["kind"])
        if kind is None:
            return self._workload(obj)
        name, spec = self._name(kind, materials.name_of(obj)), obj["spec"]
        if kind == "template":
            spec = {"spec": spec["spec"]}
        return {**obj, "metadata": {"name": name}, "spec": self._walk(spec)}

    def _set(self, one: workload_sets.WorkloadSet) -> workload_sets.WorkloadSet:
        objects = [self._object(obj) for obj in one.objects]
        return dataclasses.replace(one, name=self._name("objects", one.name), objects=objects)

    def _workload(self, obj: Object) -> Object:
        name = {"name": self._name("workload", materials.name_of(obj))}
        _, *keys = workload_kinds.TEMPLATES[obj["kind"]].split(".")
        if not keys:
            return {**obj, "metadata": name, "spec": self._pod(obj["spec"])}
        inner = {"spec": self._pod(materials.pod_template(obj)["spec"])}
        outer = {**obj, "metadata": name, "spec": _with(obj["spec"], keys, inner)}
        if "selector" in outer["spec"]:
            label = {"app": name["name"]}
            outer["spec"]["selector"] = {"matchLabels": label}
            inner["metadata"] = {"labels": label}
        return outer

    def _pod(self, spec: Object) -> Object:
        dropped = ("affinity", "topologySpreadConstraints", "tolerations", "schedulingGates")
        kept = {key: value for key, value in spec.items() if key not in dropped}
        needed = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(_REQUIRED) or {}
        if terms := needed.get("nodeSelectorTerms"):
            kept["affinity"] = {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": terms}}}
        found: Object = self._walk(kept)
        return found


def _of_values(wanted: Object, each: Callable[[str], str]) -> Object:
    return (
        {**wanted, "values": list(map(each, wanted["values"]))} if wanted.get("values") else wanted
    )


def _with(spec: Object, keys: list[str], inner: Object) -> Object:
    """Return a spec with another pod template, which is at the end of the keys."""
    if len(keys) == 1:
        return {**spec, keys[0]: inner}
    return {**spec, keys[0]: _with(spec[keys[0]], keys[1:], inner)}


def _public(slices: list[Object]) -> Iterator[str]:
    """Yield the names of drivers and the domains of attributes, which selectors name."""
    for obj in slices:
        yield str(obj["spec"].get("driver"))
        for device in obj["spec"].get("devices") or []:
            for name in (*(device.get("attributes") or {}), *(device.get("capacity") or {})):
                yield name.partition("/")[0]


def _devices(slices: list[Object]) -> Iterator[tuple[str, Object]]:
    """Yield each device with its driver."""
    for obj in slices:
        yield from ((obj["spec"]["driver"], item) for item in obj["spec"].get("devices") or [])


def _expressions(
    found: materials.Materials, sets: list[workload_sets.WorkloadSet]
) -> Iterator[str]:
    """Yield the selectors of classes, rules, claims and templates."""
    parts = [obj["spec"] for obj in found.classes]
    parts += [obj["spec"].get("deviceSelector") or {} for obj in found.rules]
    for one in sets:
        for obj in one.objects:
            if obj["kind"] in (materials.CLAIM, materials.TEMPLATE):
                parts += materials.requested(materials.claim_spec(obj))
    for part in parts:
        for item in part.get("selectors") or []:
            yield str((item.get("cel") or {}).get("expression"))


def _selected_labels(
    found: materials.Materials, sets: list[workload_sets.WorkloadSet]
) -> Iterator[str]:
    """Yield the labels by which slices, devices and pods select nodes."""
    for obj in found.slices:
        for part in (obj["spec"], *(obj["spec"].get("devices") or [])):
            yield from _keys(devices.node_terms(part))
    for one in sets:
        for obj in one.objects:
            if materials.is_workload(obj):
                spec = materials.pod_template(obj)["spec"]
                yield from spec.get("nodeSelector") or {}
                wanted = (spec.get("affinity") or {}).get("nodeAffinity") or {}
                needed = wanted.get(_REQUIRED) or {}
                yield from _keys(needed.get("nodeSelectorTerms") or [])


def _keys(terms: list[Object]) -> Iterator[str]:
    for term in terms:
        for wanted in term.get("matchExpressions") or []:
            yield wanted["key"]


def tells_identity(name: str, value: str) -> bool:
    """Return whether the text of an attribute of this name could tell whose device it is."""
    return bool(_TELLING.search(name) or _IDENTITY.search(value))


def without_values(value: Any) -> Any:
    """Return opaque parameters with their keys and types, and without their values.

    `apiVersion` and `kind` at the top stay: by them a driver knows what it reads.
    """
    if not isinstance(value, Mapping):
        return blank(value)
    return {
        key: item if key in _TYPE_KEYS and isinstance(item, str) else blank(item)
        for key, item in value.items()
    }


def blank(value: Any) -> Any:
    """Return a value of the same type that says nothing."""
    match value:
        case Mapping():
            return {key: blank(item) for key, item in value.items()}
        case list():
            return [blank(item) for item in value]
        case bool():
            return False
        case int() | float():
            return 0
        case str():
            return REDACTED
    return None
