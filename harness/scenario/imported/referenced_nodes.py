"""The nodes that slices name, and whether there are such nodes."""

import json
from collections.abc import Iterator
from typing import Any

from harness.manifests import sources
from harness.model import node_requirements
from harness.model.objects import Object
from harness.scenario.imported import slice_features

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
        self._labels: dict[str, dict[str, str]] = {}
        """Labels by name of a Node."""
        self._named: dict[str, tuple[sources.Manifest, str]] = {}
        """Node that is named -> the first slice that does, without its devices, and the field."""
        self._selectors: dict[str, tuple[sources.Manifest, str]] = {}
        """A selector as JSON -> the same."""
        self.pools: set[slice_features.PoolKey] = set()
        """Pools with a slice or a device that names nodes."""

        self.resources: set[str] = set()
        """Names of the resources that Nodes offer."""

    @property
    def named(self) -> list[str]:
        """The nodes that slices name, in the order of the first time."""
        return list(self._named)

    def see_node(self, manifest: sources.Manifest) -> None:
        """Note a Node. Raises ManifestError if its labels are no mapping of texts."""
        labels = manifest.obj["metadata"].get("labels") or {}
        are_texts = isinstance(labels, dict) and all(isinstance(x, str) for x in labels.values())
        if not are_texts:
            raise manifest.error("expected a mapping of texts", field="metadata.labels")
        for amounts in (manifest.obj.get("status") or {}).values():
            self.resources.update(amounts if isinstance(amounts, dict) else ())
        self._labels[manifest.name] = {HOSTNAME: manifest.name, **labels}

    def see_slice(self, manifest: sources.Manifest) -> None:
        """Note what a slice and its devices say of nodes."""
        spec, pool = manifest.obj["spec"], slice_features.pool_of(manifest)
        self._see_place(manifest, spec, "spec", pool)
        for number, device in enumerate(slice_features.devices_of(manifest)):
            self._see_place(manifest, device, f"spec.devices[{number}]", pool)

    def _see_place(
        self, manifest: sources.Manifest, place: Object, field: str, pool: slice_features.PoolKey
    ) -> None:
        name, selector = place.get("nodeName"), place.get("nodeSelector")
        if isinstance(name, str) and name:
            self._name(manifest, name, f"{field}.nodeName", pool)
        if not selector:
            return
        names = list(names_in_selector(selector))
        for named in names:
            self._name(manifest, named, f"{field}.nodeSelector", pool)
        if not names:
            key = json.dumps(selector, sort_keys=True)
            if key not in self._selectors:
                self._selectors[key] = _outline(manifest), f"{field}.nodeSelector"

    def _name(
        self, manifest: sources.Manifest, node: str, field: str, pool: slice_features.PoolKey
    ) -> None:
        self.pools.add(pool)
        if node not in self._named:
            self._named[node] = _outline(manifest), field

    def require_known(self) -> None:
        """Raise ManifestError for a node that is named and is none, or a selector of no node."""
        for node, (manifest, field) in self._named.items():
            if self._labels and node not in self._labels:
                raise manifest.error(
                    f"expected the name of a Node of the files, got {node!r}: add the Node, or "
                    "remove all Nodes, and one is made for each name",
                    field=field,
                )
        known = self._labels or {name: {HOSTNAME: name} for name in self._named}
        for text, (manifest, field) in self._selectors.items():
            selector = json.loads(text)
            if not any(selects(selector, name, labels) for name, labels in known.items()):
                raise manifest.error(
                    f"expected labels that a Node of the files has, but none of {len(known)} nodes "
                    f"matches {text:.120}: add the Nodes (`kubectl get nodes -o yaml`)",
                    field=field,
                )


def _outline(manifest: sources.Manifest) -> sources.Manifest:
    """Return a manifest that needs little memory, for a message."""
    outline = {key: manifest.obj[key] for key in ("apiVersion", "kind", "metadata")}
    return sources.Manifest(obj=outline, source=manifest.source)


def selects(selector: Any, name: str, labels: dict[str, str]) -> bool:
    """Return whether a nodeSelector matches a node; one of another shape matches none."""
    terms = selector.get("nodeSelectorTerms") if isinstance(selector, dict) else None
    return any(
        isinstance(term, dict) and bool(term) and _matches(term, name, labels)
        for term in (terms if isinstance(terms, list) else ())
    )


def _matches(term: Object, name: str, labels: dict[str, str]) -> bool:
    fields = {_NAME_FIELD: name}
    asked = [(labels, item) for item in term.get("matchExpressions") or ()]
    asked += [(fields, item) for item in term.get("matchFields") or ()]
    return all(
        node_requirements.is_met(item, known.get(str(item.get("key")))) for known, item in asked
    )
