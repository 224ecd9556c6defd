"""Reads the objects of `pools.from` and keeps them, compressed, until a run saves them.

Nodes come first, then classes, templates, rules, and the slices, of which there may be many: one
after another is read, looked at and compressed. References between objects are checked here; what
an API server says of each object is asked by `harness.run.pool_objects`.
"""

import dataclasses
import hashlib
import io
import pathlib
from collections.abc import Iterator, Sequence

import msgspec

from harness import errors, regular_files, writing
from harness.manifests import reading, sources
from harness.model.objects import Object
from harness.scenario import pool_specs
from harness.scenario.imported import referenced_nodes

KINDS = ("ResourceSlice", "DeviceClass", "Node", "DeviceTaintRule", "ResourceClaimTemplate")
KEY = "pools.from"
_HEAD = b'{"apiVersion":"v1","kind":"List","items":[\n'
_TAIL = b"\n]}\n"
_ORDER = ("Node", "DeviceClass", "ResourceClaimTemplate", "DeviceTaintRule")
"""The order of kinds in the saved list; the slices come last."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """The objects of the files, and a summary of them."""

    paths: tuple[str, ...]
    """The files."""
    summary: pool_specs.ImportedSpec
    compressed: bytes
    """A `List` in JSON with an object in each line, as zstd."""

    def __iter__(self) -> Iterator[Object]:
        """Yield the objects, nodes first and slices last."""
        from harness.compression import zstd

        with zstd.ZstdFile(io.BytesIO(self.compressed)) as lines:
            yield from of_lines(lines)


def chunks(compressed: bytes) -> Iterator[bytes]:
    from harness.compression import zstd

    with zstd.ZstdFile(io.BytesIO(compressed)) as stream:
        while chunk := stream.read(1 << 20):
            yield chunk


def of_lines(lines: Iterator[bytes] | io.BufferedIOBase) -> Iterator[Object]:
    for line in lines:
        if line.startswith((b'{"apiVersion":"v1","kind":"List"', b"]}")):
            continue
        yield msgspec.json.decode(line.rstrip(b",\n"))


def read(paths: Sequence[str]) -> Imported:
    collection = _Collection()
    for manifest in reading.read(paths, kinds=KINDS, of=KEY):
        collection.add(manifest)
    return collection.imported(tuple(paths))


class _Collection:
    """The objects of the files so far."""

    def __init__(self) -> None:
        from harness.compression import zstd  # 10 ms

        self._first: dict[tuple[str, str, str], sources.Source] = {}
        """Where each name of a kind stands."""
        self._others: dict[str, list[Object]] = {kind: [] for kind in _ORDER}
        self._slices = io.BytesIO()
        self._packed = zstd.ZstdFile(self._slices, "w")
        self._features = referenced_nodes.Features()
        self._nodes = referenced_nodes.ReferencedNodes()

    def add(self, manifest: sources.Manifest) -> None:
        self._require_new(manifest)
        match manifest.kind:
            case "ResourceSlice":
                found = referenced_nodes.slice_of(manifest)
                self._features.see(manifest, found)
                self._nodes.see_slice(manifest, found)
                self._packed.write(msgspec.json.encode(manifest.obj) + b",\n")
            case "Node":
                self._nodes.see_node(manifest)
                self._others["Node"].append(_outline(manifest.obj))
            case kind:
                self._others[kind].append(manifest.obj)

    def _require_new(self, manifest: sources.Manifest) -> None:
        if not manifest.name and manifest.kind != "ResourceSlice":
            raise manifest.error("expected a name, got none", field="metadata.name")
        key = manifest.kind, manifest.namespace, manifest.name
        first = self._first.setdefault(key, manifest.source)
        if manifest.name and first is not manifest.source:
            raise manifest.error(f"expected each {manifest.kind} once, it stands in {first}, too")

    def imported(self, paths: tuple[str, ...]) -> Imported:
        if not self._features.slices:
            raise errors.ManifestError(
                f"{', '.join(paths)}: expected ResourceSlices in {KEY}, got none: write them with "
                "`kubectl get resourceslices,deviceclasses,nodes -o yaml`"
            )
        self._nodes.require_known()
        self._others["Node"] = self._others["Node"] or [*map(_node, self._nodes.named)]
        packed, digest = self._whole()
        return Imported(paths=paths, summary=self._summary(digest), compressed=packed)

    def _whole(self) -> tuple[bytes, str]:
        from harness.compression import zstd

        self._packed.close()
        self._slices.seek(0)
        whole, digest = io.BytesIO(), hashlib.sha256()
        with zstd.ZstdFile(whole, "w") as packed:

            def write(text: bytes) -> None:
                digest.update(text)
                packed.write(text)

            write(_HEAD)
            for kind in _ORDER:
                for obj in self._others[kind]:
                    write(msgspec.json.encode(obj) + b",\n")
            with zstd.ZstdFile(self._slices) as stream:
                held = b""
                while chunk := stream.read(1 << 20):
                    write(held)
                    held = chunk
                write(held.removesuffix(b",\n") + _TAIL)
        return whole.getvalue(), digest.hexdigest()

    def _summary(self, digest: str) -> pool_specs.ImportedSpec:
        seen, classes = self._features, self._others["DeviceClass"]
        by_node = self._nodes.pools
        own = sum(count for key, count in seen.devices.items() if key in by_node)
        rules: list[pool_specs.Feature] = ["taint-rules"] * bool(self._others["DeviceTaintRule"])
        return pool_specs.ImportedSpec(
            nodes=len(self._others["Node"]),
            own_devices=own,
            other_devices=sum(seen.devices.values()) - own,
            slices=seen.slices,
            drivers=tuple(dict.fromkeys(driver for driver, _ in seen.devices)),
            classes={item["metadata"]["name"]: _resource(item) for item in classes},
            templates=tuple(
                item["metadata"]["name"] for item in self._others["ResourceClaimTemplate"]
            ),
            resources=tuple(sorted(self._nodes.resources)),
            attributes=tuple(sorted(seen.attributes)),
            has=tuple(sorted({*seen.has, *rules})),
            sha256=digest,
        )


def _resource(device_class: Object) -> str:
    spec = device_class.get("spec")
    return str(spec.get("extendedResourceName") or "") if isinstance(spec, dict) else ""


def _node(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


def _outline(node: Object) -> Object:
    labels = node["metadata"].get("labels")
    kept = {**_node(node["metadata"]["name"])}
    if labels:
        kept["metadata"]["labels"] = labels
    if node.get("status"):
        kept["status"] = node["status"]
    return kept


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
        """Yield the objects. Raises RunDirectoryError if the file is missing."""
        try:
            lines = regular_files.opened(self._path)
        except OSError as error:
            raise errors.RunDirectoryError(
                f"expected the objects of pools.from in {self._path} ({error.strerror})"
            ) from error
        with lines:
            yield from of_lines(lines)
