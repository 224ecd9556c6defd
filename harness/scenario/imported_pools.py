"""Pools from objects: `pools.from` names files with ResourceSlices, DeviceClasses and Nodes.

They are read when a scenario is loaded. A scenario keeps a summary only; the objects are kept
compressed until a run saves them: nodes first, then classes, templates, rules, and the slices, of
which there may be many. References between objects are checked here; what the API server says of
each object shows when a run creates it. How they are renamed and created is for
`harness.cluster.fake_nodes`.
"""

import dataclasses
import hashlib
import io
import pathlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import msgspec

from harness import errors, regular_files, writing
from harness.manifests import places, reading, sources
from harness.model.objects import Object
from harness.scenario import pool_specs

KINDS = ("ResourceSlice", "DeviceClass", "Node", "DeviceTaintRule", "ResourceClaimTemplate")
KEY = "pools.from"
HOSTNAME = "kubernetes.io/hostname"
"""The label by which selectors name a node."""
_HEAD = b'{"apiVersion":"v1","kind":"List","items":[\n'
_TAIL = b"\n]}\n"
_ORDER = ("Node", "DeviceClass", "ResourceClaimTemplate", "DeviceTaintRule")
"""The order of kinds in the saved list; the slices come last."""
_FEATURES: dict[str, pool_specs.Feature] = {
    "consumesCounters": "counters",
    "allowMultipleAllocations": "shares",
    "taints": "taints",
    "bindingConditions": "binding-conditions",
}
"""Key of a device -> what it shows."""


# -------------------------------------------------------------------------------- saved


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """The objects of the files, and a summary of them."""

    summary: pool_specs.ImportedSpec
    compressed: bytes
    """A `List` in JSON with an object in each line, as zstd."""

    def __iter__(self) -> Iterator[Object]:
        from harness.compression import zstd

        with zstd.ZstdFile(io.BytesIO(self.compressed)) as lines:
            yield from _of_lines(lines)


def chunks(compressed: bytes) -> Iterator[bytes]:
    from harness.compression import zstd  # 10 ms

    with zstd.ZstdFile(io.BytesIO(compressed)) as stream:
        while chunk := stream.read(1 << 20):
            yield chunk


def save(compressed: bytes, path: pathlib.Path) -> None:
    """Write the objects of an `Imported`.

    Raises StorageError or UnwritableError if that is not possible.
    """
    with writing.explained(path), path.open("wb") as file:
        for chunk in chunks(compressed):
            file.write(chunk)


class SavedObjects:
    """The objects of a file; each iteration reads it again."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path

    def __iter__(self) -> Iterator[Object]:
        try:
            lines = regular_files.opened(self._path)
        except OSError as error:
            raise errors.RunDirectoryError(
                f"expected the objects of pools.from in {self._path} ({error.strerror})"
            ) from error
        with lines:
            yield from _of_lines(lines)


def _of_lines(lines: Iterator[bytes] | io.BufferedIOBase) -> Iterator[Object]:
    for line in lines:
        if not line.startswith((_HEAD[:31], b"]}")):
            yield msgspec.json.decode(line.rstrip(b",\n"))


# --------------------------------------------------------------------------------- read


class _Pool(msgspec.Struct, frozen=True):
    name: Annotated[str, msgspec.Meta(min_length=1)]


class _Slice(msgspec.Struct, frozen=True):
    """The keys of a slice's spec that are read here."""

    driver: Annotated[str, msgspec.Meta(min_length=1)]
    pool: _Pool
    devices: list[Object] | None = None


def read(paths: Sequence[str]) -> Imported:
    collection = _Collection()
    for manifest in reading.read(paths, kinds=KINDS, of=KEY):
        collection.add(manifest)
    return collection.imported(paths)


class _Collection:
    def __init__(self) -> None:
        from harness.compression import zstd

        self._first: dict[tuple[str, str, str], sources.Source] = {}
        """Where each name of a kind stands."""
        self._others: dict[str, list[Object]] = {kind: [] for kind in _ORDER}
        self._slices = io.BytesIO()
        self._packed = zstd.ZstdFile(self._slices, "w")
        self._newest = b""
        """The newest slice, which is not packed yet."""
        self._slice_count = 0
        self._devices: Counter[tuple[str, str]] = Counter()
        """Devices by driver and pool; pools without devices are there, too."""
        self._attributes: set[str] = set()
        self._has: set[pool_specs.Feature] = set()
        self._named: dict[str, tuple[sources.Manifest, str]] = {}
        """Node that is named -> the first slice that does, without its devices, and the field."""
        self._pools_of_nodes: set[tuple[str, str]] = set()

    def add(self, manifest: sources.Manifest) -> None:
        self._require_new(manifest)
        if manifest.kind == "ResourceSlice":
            self._add_slice(manifest)
        else:
            obj = _outline(manifest) if manifest.kind == "Node" else manifest.obj
            self._others[manifest.kind].append(obj)

    def _require_new(self, manifest: sources.Manifest) -> None:
        if not manifest.name and manifest.kind != "ResourceSlice":
            raise manifest.error("expected a name, got none", field="metadata.name")
        key = manifest.kind, manifest.namespace, manifest.name
        first = self._first.setdefault(key, manifest.source)
        if manifest.name and first is not manifest.source:
            raise manifest.error(f"expected each {manifest.kind} once, it stands in {first}, too")

    def _add_slice(self, manifest: sources.Manifest) -> None:
        spec = manifest.obj.get("spec")
        try:
            found = msgspec.convert(spec, _Slice)
        except msgspec.ValidationError as error:
            at, said = sources.misplaced(error, "spec")
            raise manifest.error(said, field=at) from error
        pool = found.driver, found.pool.name
        for field in _named_fields(manifest.obj):
            self._name(manifest, *field, pool)
        for device in found.devices or ():
            self._has |= {_FEATURES[key] for key in _FEATURES if device.get(key)}
            for name, value in next(places.tables(device, "attributes"), {}).items():
                self._attributes.add(name if "/" in name else f"{found.driver}/{name}")
                if isinstance(value, dict) and any(isinstance(x, list) for x in value.values()):
                    self._has.add("lists")
        if manifest.obj["spec"].get("sharedCounters"):
            self._has.add("counters")
        if not manifest.obj["spec"].get("nodeName"):
            self._has.add("several-nodes")
        self._slice_count += 1
        self._devices[pool] += len(found.devices or ())
        self._packed.write(self._newest)
        self._newest = msgspec.json.encode(manifest.obj) + b",\n"

    def _name(
        self, manifest: sources.Manifest, node: str, field: str, pool: tuple[str, str]
    ) -> None:
        self._pools_of_nodes.add(pool)
        if node not in self._named:
            outline = {key: manifest.obj[key] for key in ("apiVersion", "kind", "metadata")}
            self._named[node] = sources.Manifest(obj=outline, source=manifest.source), field

    def imported(self, paths: Sequence[str]) -> Imported:
        if not self._slice_count:
            raise errors.ManifestError(
                f"{', '.join(paths)}: expected ResourceSlices in {KEY}, got none: write them with "
                "`kubectl get resourceslices,deviceclasses,nodes -o yaml`"
            )
        known = {node["metadata"]["name"] for node in self._others["Node"]}
        for node, (manifest, field) in self._named.items():
            if known and node not in known:
                raise manifest.error(
                    f"expected the name of a Node of the files, got {node!r}: add the Node, or "
                    "remove all Nodes, and one is made for each name",
                    field=field,
                )
        self._others["Node"] = self._others["Node"] or [*map(_node, self._named)]
        packed = self._whole()
        return Imported(summary=self._summary(packed), compressed=packed)

    def _whole(self) -> bytes:
        from harness.compression import zstd

        self._packed.close()
        others = [msgspec.json.encode(obj) for kind in _ORDER for obj in self._others[kind]]
        before = zstd.compress(_HEAD + b"".join(obj + b",\n" for obj in others))
        after = zstd.compress(self._newest.removesuffix(b",\n") + _TAIL)
        return before + self._slices.getvalue() + after

    def _summary(self, packed: bytes) -> pool_specs.ImportedSpec:
        nodes, classes, templates, rules = (self._others[kind] for kind in _ORDER)
        own = sum(self._devices[key] for key in self._pools_of_nodes)
        digest = hashlib.sha256()
        for chunk in chunks(packed):
            digest.update(chunk)
        resources = {
            name
            for node in nodes
            for amounts in places.tables(node, "status")
            for part in amounts
            for name in next(places.tables(amounts, part), {})
        }
        if rules:
            self._has.add("taint-rules")
        return pool_specs.ImportedSpec(
            nodes=len(nodes),
            own_devices=own,
            other_devices=sum(self._devices.values()) - own,
            slices=self._slice_count,
            drivers=tuple(dict.fromkeys(driver for driver, _ in self._devices)),
            classes={
                item["metadata"]["name"]: str(places.value(item, "spec.extendedResourceName") or "")
                for item in classes
            },
            templates=tuple(item["metadata"]["name"] for item in templates),
            resources=tuple(sorted(resources)),
            attributes=tuple(sorted(self._attributes)),
            has=tuple(sorted(self._has)),
            sha256=digest.hexdigest(),
        )


def _node(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


def _outline(manifest: sources.Manifest) -> Object:
    labels = manifest.obj["metadata"].get("labels") or {}
    if not (isinstance(labels, dict) and all(isinstance(x, str) for x in labels.values())):
        raise manifest.error("expected a mapping of texts", field="metadata.labels")
    kept = _node(manifest.name)
    if labels:
        kept["metadata"]["labels"] = labels
    return kept | {key: manifest.obj[key] for key in ("status",) if manifest.obj.get(key)}


# -------------------------------------------------------------------------- names of nodes


def _named_fields(obj: Object) -> Iterator[tuple[str, str]]:
    spec = obj["spec"]
    at = {f"spec.devices[{index}]": one for index, one in enumerate(spec.get("devices") or ())}
    for field, place in {"spec": spec, **at}.items():
        if isinstance(name := place.get("nodeName"), str) and name:
            yield name, f"{field}.nodeName"
        for named in names_in_selector(place.get("nodeSelector")):
            yield named, f"{field}.nodeSelector"


def names_in_selector(selector: Any) -> Iterator[str]:
    """Yield the nodes that a nodeSelector names, by field or by the label of host names."""
    for key in ("matchExpressions", "matchFields"):
        for requirement in places.tables(selector, f"nodeSelectorTerms[].{key}[]"):
            if is_of_names(requirement):
                yield from map(str, requirement.get("values") or ())


def is_of_names(requirement: Object) -> bool:
    return requirement.get("key") in (HOSTNAME, "metadata.name")
