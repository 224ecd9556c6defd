"""Devices and features of slices, the nodes that they name, and whether there are such nodes."""

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec

from harness.manifests import sources
from harness.model.objects import Object
from harness.scenario import pool_specs

PoolKey = tuple[str, str]
"""Driver and name of a pool."""


class _Pool(msgspec.Struct, frozen=True):
    name: Annotated[str, msgspec.Meta(min_length=1)]


class Slice(msgspec.Struct, frozen=True, rename="camel"):
    """The keys of a slice's spec that are read here."""

    driver: Annotated[str, msgspec.Meta(min_length=1)]
    pool: _Pool
    devices: list[Object] | None = None

    @property
    def key(self) -> PoolKey:
        return self.driver, self.pool.name


def slice_of(manifest: sources.Manifest) -> Slice:
    try:
        return msgspec.convert(manifest.obj.get("spec"), Slice)
    except msgspec.ValidationError as error:
        at, said = sources.misplaced(error, "spec")
        raise manifest.error(said, field=at) from error


class Features:
    """Features of the slices so far."""

    def __init__(self) -> None:
        self.slices = 0
        self.devices: Counter[PoolKey] = Counter()
        """Devices by pool; pools without devices are there, too."""
        self.attributes: set[str] = set()
        """Full names."""
        self.has: set[pool_specs.Feature] = set()

    def see(self, manifest: sources.Manifest, found: Slice) -> None:
        devices = found.devices or []
        self.slices += 1
        self.devices[found.key] += len(devices)
        spec = manifest.obj["spec"]
        if spec.get("sharedCounters"):
            self.has.add("counters")
        if not spec.get("nodeName"):
            self.has.add("several-nodes")
        for device in devices:
            self.has.update(_of_device(device))
            self.attributes.update(_attributes(device, found.driver))


def _of_device(device: Object) -> Iterator[pool_specs.Feature]:
    if device.get("consumesCounters"):
        yield "counters"
    if device.get("allowMultipleAllocations"):
        yield "shares"
    if device.get("taints"):
        yield "taints"
    if device.get("bindingConditions"):
        yield "binding-conditions"
    if any(isinstance(value, list) for item in _values(device) for value in item.values()):
        yield "lists"


def _values(device: Object) -> list[dict[str, Any]]:
    attributes = device.get("attributes")
    values = attributes.values() if isinstance(attributes, dict) else ()
    return [value for value in values if isinstance(value, dict)]


def _attributes(device: Object, driver: str) -> Iterator[str]:
    attributes = device.get("attributes")
    for name in attributes if isinstance(attributes, dict) else ():
        yield name if "/" in name else f"{driver}/{name}"


HOSTNAME = "kubernetes.io/hostname"
"""The label by which selectors name a node."""
_NAME_FIELD = "metadata.name"


def names_in_selector(selector: Any) -> Iterator[str]:
    """Yield the nodes that a nodeSelector names, by field or by the label of host names."""
    for requirement in requirements(selector):
        if is_of_names(requirement):
            yield from (str(value) for value in requirement.get("values") or ())


def is_of_names(requirement: Object) -> bool:
    """Return whether a requirement of a nodeSelector is about names of nodes."""
    return requirement.get("key") in (HOSTNAME, _NAME_FIELD)


def requirements(selector: Any) -> Iterator[Object]:
    """Yield the requirements of all terms of a nodeSelector."""
    terms = selector.get("nodeSelectorTerms") if isinstance(selector, dict) else None
    for term in terms if isinstance(terms, list) else ():
        for key in ("matchExpressions", "matchFields"):
            found = term.get(key) if isinstance(term, dict) else None
            yield from (item for item in found or () if isinstance(item, dict))


class ReferencedNodes:
    """Nodes, and references to nodes."""

    def __init__(self) -> None:
        self._nodes: set[str] = set()
        """Names of the Nodes."""
        self._named: dict[str, tuple[sources.Manifest, str]] = {}
        """Node that is named -> the first slice that does, without its devices, and the field."""
        self.pools: set[PoolKey] = set()
        """Pools with a slice or a device that names nodes."""
        self.resources: set[str] = set()
        """Names of the resources that Nodes offer."""

    @property
    def named(self) -> list[str]:
        return list(self._named)

    def see_node(self, manifest: sources.Manifest) -> None:
        labels = manifest.obj["metadata"].get("labels") or {}
        are_texts = isinstance(labels, dict) and all(isinstance(x, str) for x in labels.values())
        if not are_texts:
            raise manifest.error("expected a mapping of texts", field="metadata.labels")
        for amounts in (manifest.obj.get("status") or {}).values():
            self.resources.update(amounts if isinstance(amounts, dict) else ())
        self._nodes.add(manifest.name)

    def see_slice(self, manifest: sources.Manifest, found: Slice) -> None:
        self._see_place(manifest, manifest.obj["spec"], "spec", found.key)
        for number, device in enumerate(found.devices or ()):
            self._see_place(manifest, device, f"spec.devices[{number}]", found.key)

    def _see_place(
        self, manifest: sources.Manifest, place: Object, field: str, pool: PoolKey
    ) -> None:
        name, selector = place.get("nodeName"), place.get("nodeSelector")
        if isinstance(name, str) and name:
            self._name(manifest, name, f"{field}.nodeName", pool)
        for named in names_in_selector(selector):
            self._name(manifest, named, f"{field}.nodeSelector", pool)

    def _name(self, manifest: sources.Manifest, node: str, field: str, pool: PoolKey) -> None:
        self.pools.add(pool)
        if node not in self._named:
            outline = {key: manifest.obj[key] for key in ("apiVersion", "kind", "metadata")}
            self._named[node] = sources.Manifest(obj=outline, source=manifest.source), field

    def require_known(self) -> None:
        for node, (manifest, field) in self._named.items():
            if self._nodes and node not in self._nodes:
                raise manifest.error(
                    f"expected the name of a Node of the files, got {node!r}: add the Node, or "
                    "remove all Nodes, and one is made for each name",
                    field=field,
                )
