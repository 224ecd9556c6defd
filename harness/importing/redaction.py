"""Replaces names and values that could tell whose cluster it is, the same by the same everywhere.

Kept are the names of drivers, attributes, capacities, labels and extended resources, numbers,
versions and amounts: by them devices are chosen. Selectors in CEL follow what is replaced.
"""

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from harness.importing import materials, workload_sets
from harness.model.objects import Object
from harness.report.redaction import documents, keys, names, values
from harness.subject.cel import selectors as device_selectors

_TOPOLOGY = re.compile(r"(zone|region)$")
_NODE_NAME = "metadata.name"
"""The field of nodes that stands in `matchFields`."""
_READS_TEXTS = re.compile(r"\bdevice\b(?!\s*\.\s*(?:driver|capacity|allowMultipleAllocations)\b)")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


class _Secrets(documents.Documents):
    """Takes the values of opaque parameters away whose keys say that they are secret."""

    def __init__(self, notes: materials.Notes) -> None:
        self._notes = notes
        self.rules = documents.under("parameters", self._parameters)

    def _parameters(self, value: Any) -> Any:
        match value:
            case list():
                return [self._parameters(item) for item in value]
            case dict():
                return {key: self._parameter(key, item) for key, item in value.items()}
        return value

    def _parameter(self, key: str, value: Any) -> Any:
        if not values.is_secret(key) or isinstance(value, bool):
            return self._parameters(value)
        self._notes.add(f"left out: the value of {key} in opaque parameters")
        return values.blank(value)


def without_secrets(
    found: materials.Materials, sets: Sequence[workload_sets.WorkloadSet]
) -> tuple[materials.Materials, list[workload_sets.WorkloadSet]]:
    """Return the materials and sets without secrets in opaque parameters; they are noted."""
    secrets = _Secrets(found.notes)
    made = dataclasses.replace(found, classes=secrets.of(found.classes))
    return made, [dataclasses.replace(one, objects=secrets.of(one.objects)) for one in sets]


# ---------------------------------------------------------------- names and all values


def redacted(
    found: materials.Materials, sets: Sequence[workload_sets.WorkloadSet]
) -> tuple[materials.Materials, list[workload_sets.WorkloadSet]]:
    """Return the materials and sets with other names and values.

    Each selector answers for each device as before. Texts that this needs stay, and are noted.
    """
    public = {*_public(found.slices)}
    kept: set[str] = set()
    while True:
        redaction = _Redaction(public | kept)
        made, made_sets = redaction.apply(found, sets)
        pairs = zip(_devices(found.slices), _devices(made.slices), strict=True)
        more = _texts_to_keep(
            redaction.selectors.items(), ((driver, old, new) for (driver, old), (_, new) in pairs)
        )
        if more <= kept:
            break
        kept |= more
    attributes = [(device.get("attributes") or {}) for _, device in _devices(found.slices)]
    has_kept = {name for one in attributes for name in one if kept & {*_texts_of(one[name])}}
    for name in sorted(has_kept):
        found.notes.add(f"not redacted: {name}, by whose text selectors choose, and what they name")
    return made, made_sets


class _Redaction(documents.Documents):
    def __init__(self, kept: set[str]) -> None:
        """`kept` are the texts that stay as they are."""
        self._numbers = names.Numbers("-")
        self._kept = kept
        self.selectors: dict[str, str] = {}
        """Selector -> what it became."""
        self._selected: set[str] = set()
        """Labels by which slices, devices and pods select nodes."""
        named = documents.named(
            keys.REFERENCES, keys.ITEMS, name=self._numbers.of, each=self._items
        )
        self.rules = {
            **named,
            ("pool", str): self._pool,
            ("pool", dict): lambda pool: {**pool, "name": self._pool(pool["name"])},
            ("attributes", dict): lambda given: {
                name: self._attribute(name, item) for name, item in given.items()
            },
            ("taint", dict): self._taint,
            ("taints", list): _each(self._taint),
            ("tolerations", list): _each(self._taint),
            ("expression", str): self._selector,
            **documents.under("parameters", values.without_values),
            ("image", str): lambda _: "none",
            ("matchExpressions", list): _each(self._labels),
            ("matchFields", list): _each(self._labels),
            ("nodeSelector", dict): self._node_selector,
            ("affinity", dict): self._affinity,
        }

    def apply(
        self, found: materials.Materials, sets: Sequence[workload_sets.WorkloadSet]
    ) -> tuple[materials.Materials, list[workload_sets.WorkloadSet]]:
        for node in found.nodes:
            self._numbers.of("node", materials.name_of(node))
        made = dataclasses.replace(
            found,
            slices=[self._object(obj) for obj in found.slices],
            classes=[self._object(obj) for obj in found.classes],
            rules=[self._object(obj) for obj in found.rules],
        )
        made_sets = [self._set(one) for one in sets]
        made.nodes = [self._node(obj) for obj in found.nodes]
        return made, made_sets

    def _value(self, value: str, name: str = "") -> str:
        if value in self._kept:
            return value
        hidden, nodes = self._numbers.given(values.REDACTED), self._numbers.given("node")
        if value not in hidden and value in nodes:
            return nodes[value]
        if value in hidden or values.tells_identity(value, name):
            return self._numbers.of(values.REDACTED, value)
        return value

    def quoted(self, text: str) -> str:
        return self._value(text)

    def comment(self, text: str) -> str:
        return text if text[1:-1] in self._kept else ""

    def _selector(self, text: str) -> str:
        self.selectors[text] = self.expression(text)
        return self.selectors[text]

    def _pool(self, name: str) -> str:
        return self._numbers.given("node").get(name) or self._numbers.of("pool", name)

    def _attribute(self, name: str, attribute: Object) -> Object:
        kept = dict(attribute)
        if isinstance(attribute.get("string"), str):
            kept["string"] = self._value(attribute["string"], name)
        if isinstance(attribute.get("strings"), list):
            kept["strings"] = [self._value(item, name) for item in attribute["strings"]]
        return kept

    def _taint(self, taint: Object) -> Object:
        kept = {key: value for key, value in taint.items() if key != "timeAdded"}
        if taint.get("value"):
            kept["value"] = self._numbers.of("taint", taint["value"])
        return kept

    def _label(self, key: str, value: str) -> str:
        if key == _NODE_NAME:
            return self._numbers.of("node", value)
        if topology := _TOPOLOGY.search(key):
            return self._numbers.of(topology[1], value)
        return self._value(value, "hostname" if key == materials.HOSTNAME else "")

    def _labels(self, wanted: Object) -> Object:
        self._selected.add(wanted["key"])
        found = [self._label(wanted["key"], value) for value in wanted.get("values") or []]
        return {**wanted, "values": found} if found else wanted

    def _node_selector(self, selector: Object) -> Any:
        if "nodeSelectorTerms" in selector:
            return self.within({"nodeSelectorTerms": selector["nodeSelectorTerms"]})
        self._selected |= selector.keys()
        return {key: self._label(key, value) for key, value in selector.items()}

    def _affinity(self, affinity: Object) -> Any:
        """Return the terms that nodes have to meet; what is only preferred goes."""
        needed = (affinity.get("nodeAffinity") or {}).get(_REQUIRED) or {}
        terms = needed.get("nodeSelectorTerms")
        found = {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": terms}}} if terms else {}
        return self.within(found)

    def _items(self, kind: str, items: list[Object]) -> list[Object]:
        return [
            {**self.within(item), "name": self._numbers.of(kind, str(item.get("name")))}
            for item in items
        ]

    def key(self, name: str, parent: str) -> str:
        """Return a key; the resource by which containers ask for a class has the class's name."""
        del parent
        class_name = name.removeprefix(workload_sets.IMPLICIT)
        if class_name == name:
            return name
        return workload_sets.IMPLICIT + self._numbers.of("class", class_name)

    def _set(self, one: workload_sets.WorkloadSet) -> workload_sets.WorkloadSet:
        objects = [self._object(obj) for obj in one.objects]
        name = self._numbers.of("objects", one.name)
        return dataclasses.replace(one, name=name, objects=objects)

    def _node(self, obj: Object) -> Object:
        labels = {
            key: self._label(key, value)
            for key, value in obj["metadata"]["labels"].items()
            if key in self._selected or key == materials.HOSTNAME or _TOPOLOGY.search(key)
        }
        name = self._numbers.of("node", materials.name_of(obj))
        return {**obj, "metadata": {"name": name, "labels": labels}}

    def _object(self, obj: Object) -> Object:
        kind = keys.KINDS.get(obj["kind"], "workload")
        name = self._numbers.of(kind, materials.name_of(obj))
        made = {**obj, "metadata": {"name": name}, "spec": self.within(obj["spec"])}
        if kind == "template":
            made["spec"].pop("metadata", None)
        elif kind == "workload":
            _cut_template(made, {"app": name})
        return made


def _each(change: Callable[[Object], Object]) -> Callable[[list[Object]], list[Object]]:
    return lambda items: [change(item) for item in items]


def _cut_template(workload: Object, labels: Mapping[str, str]) -> None:
    """Leave labels to the pods of a workload only if it selects them; they have no tolerations."""
    template = materials.pod_template(workload)
    template["spec"].pop("tolerations", None)
    if not template["spec"].get("affinity"):
        template["spec"].pop("affinity", None)
    if template is not workload:
        template.pop("metadata", None)
    if "selector" in workload["spec"]:
        workload["spec"]["selector"] = {"matchLabels": labels}
        template["metadata"] = {"labels": labels}


def _public(slices: list[Object]) -> Iterator[str]:
    yield from (str(obj["spec"].get("driver")) for obj in slices)
    for _, device in _devices(slices):
        for name in (*(device.get("attributes") or {}), *(device.get("capacity") or {})):
            yield name.partition("/")[0]


def _devices(slices: list[Object]) -> Iterator[tuple[str, Object]]:
    for obj in slices:
        yield from ((obj["spec"]["driver"], item) for item in obj["spec"].get("devices") or [])


# --------------------------------------------------------- selectors, by asking all devices


def _texts_to_keep(
    selectors: Iterable[tuple[str, str]], devices: Iterable[tuple[str, Object, Object]]
) -> set[str]:
    """Return texts that have to stay; none if every selector answers as before.

    `devices` are the driver of each device, and the device before and after.
    """
    texts: set[str] = set()
    pairs = dict.fromkeys(selectors)
    asked = [(old, new) for old, new in pairs if old != new or _READS_TEXTS.search(old)]
    for driver, before, after in devices if asked else ():
        for old, new in asked:
            if _answer(old, driver, before) == _answer(new, driver, after):
                continue
            texts |= {*_changed(old, before, after)} | ({*_literals(old)} - {*_literals(new)})
    return texts


def _answer(selector: str, driver: str, device: Object) -> bool | None:
    try:
        return device_selectors.compiled(selector).matches(driver, device)
    except device_selectors.SelectorError:
        return None


def _changed(selector: str, before: Object, after: Object) -> Iterator[str]:
    """Yield the texts that changed of the attributes that a selector names, or else of all."""
    old, new = before.get("attributes") or {}, after.get("attributes") or {}
    changed = [name for name in old if old[name] != new[name]]
    named = [name for name in changed if re.search(rf"\b{name.rpartition('/')[2]}\b", selector)]
    for name in named or changed:
        yield from _texts_of(old[name])


def _texts_of(attribute: Object) -> Iterator[str]:
    values = [attribute.get("string"), *(attribute.get("strings") or [])]
    yield from (value for value in values if isinstance(value, str))


def _literals(selector: str) -> Iterator[str]:
    yield from (found[0][1:-1] for found in documents.LITERAL.finditer(selector))
