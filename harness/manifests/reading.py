"""Reads the objects of files: the entry of this package.

Each is without what a server writes, and in today's version of resource.k8s.io. v1beta2 has the
shape of v1. In v1beta1 a device has its fields in `basic`, and a request has no `exactly`.
"""

import dataclasses
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import msgspec

from harness import errors, suggestions
from harness.manifests import documents, places, sources
from harness.model.objects import Object

_LIST = "List"
_LISTS_IN_LISTS_MAX = 8
_GROUP = "resource.k8s.io"
_RULE = "DeviceTaintRule"
"""A kind whose v1beta2 has no successor yet."""
_OF_REQUEST = (
    "adminAccess",
    "allocationMode",
    "capacity",
    "count",
    "deviceClassName",
    "selectors",
    "tolerations",
)
"""Fields that are below `exactly` since v1beta2."""
_OF_SERVER = (
    *("creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers"),
    *("generation", "managedFields", "ownerReferences", "resourceVersion", "selfLink", "uid"),
)
"""Keys of metadata that an API server or a controller writes."""
_ANNOTATIONS = (
    "deployment.kubernetes.io/revision",
    "kubectl.kubernetes.io/last-applied-configuration",
)
_OF_NODES = ("allocatable", "capacity")
"""Fields of the status of a Node that stay: pods are placed by them."""


def read(
    paths: Sequence[str],
    *,
    kinds: Collection[str] = (),
    of: str = "objects",
    keeps_owners: bool = False,
) -> Iterator[sources.Manifest]:
    """Yield the objects of all documents and Lists of files, in their order.

    `kinds`: those that are allowed; empty: all. `of` is the key that names the files, for messages.
    `keeps_owners`: with `ownerReferences`.
    Raises ManifestError with file, document and object for anything else. A file without objects
    yields none.
    """
    for path in paths:
        for source, value in documents.read(path):
            for place, obj in _of_value(source, value):
                yield made(obj, place, kinds=kinds, of=of, keeps_owners=keeps_owners)


def made(
    obj: Object,
    source: sources.Source,
    *,
    kinds: Collection[str] = (),
    of: str = "",
    keeps_owners: bool = False,
) -> sources.Manifest:
    """Return an object that has an outline as a manifest; see `read`."""
    kept = _without_fields_of_servers(obj, keeps_owners=keeps_owners)
    manifest = sources.Manifest(obj=kept, source=source)
    if kinds and manifest.kind not in kinds:
        near = suggestions.did_you_mean(manifest.kind, kinds)
        raise manifest.error(
            f"expected one of {', '.join(kinds)} in {of}, got {manifest.kind} of "
            f"{manifest.api_version}; remove it from the file.{near}"
        )
    _make_newest(manifest)
    return manifest


def _of_value(
    source: sources.Source, value: Any, depth: int = 0
) -> Iterator[tuple[sources.Source, Object]]:
    items = value.get("items") if isinstance(value, dict) else None
    if not isinstance(items, list) or depth == _LISTS_IN_LISTS_MAX:
        yield source, _object(source, value)
        return
    kind, version = str(value.get("kind")), str(value.get("apiVersion"))
    if not kind.endswith(_LIST):
        raise errors.ManifestError(
            f"{source}: expected a List of objects, as it has items, got the kind {kind!r:.60}"
        )
    for number, item in enumerate(items, 1):
        place = dataclasses.replace(source, item=number, line=None)
        found = documents.of_json(place, bytes(item)) if isinstance(item, msgspec.Raw) else item
        if isinstance(found, dict) and "kind" not in found and kind != _LIST:
            found = {"apiVersion": version, "kind": kind.removesuffix(_LIST), **found}
        yield from _of_value(place, found, depth + 1)


def _object(source: sources.Source, value: Any) -> Object:
    """Return a value that has the outline of an object. Raises ManifestError for others."""
    if not isinstance(value, dict):
        what = "a list" if isinstance(value, list) else f"{value!r:.40}"
        raise errors.ManifestError(f"{source}: expected an object of the API, got {what}")
    for key in ("apiVersion", "kind"):
        if not isinstance(value.get(key), str) or not value[key]:
            raise errors.ManifestError(
                f"{source}: expected an object of the API with {key}, got none"
            )
    metadata = value.get("metadata")
    if not isinstance(metadata, dict | None):
        raise errors.ManifestError(f"{source}: {value['kind']}: expected a mapping as metadata")
    for key in ("name", "generateName", "namespace"):
        if not isinstance((metadata or {}).get(key), str | None):
            raise errors.ManifestError(
                f"{source}: {value['kind']}: metadata.{key}: expected text: put it in quotes"
            )
    return value


# ------------------------------------------------------------------- fields and versions


def _without_fields_of_servers(obj: Object, *, keeps_owners: bool) -> Object:
    """Return it in a copy of its outer parts; a name that was generated takes the place of its
    `generateName`."""
    kept = {key: value for key, value in obj.items() if key != "status"}
    given = obj.get("metadata") or {}
    metadata = {key: value for key, value in given.items() if key not in _OF_SERVER}
    if metadata.get("name"):
        metadata.pop("generateName", None)
    if isinstance(marks := metadata.get("annotations"), dict):
        metadata["annotations"] = {key: marks[key] for key in marks if key not in _ANNOTATIONS}
    kept["metadata"] = {key: value for key, value in metadata.items() if value not in ({}, None)}
    if keeps_owners and (owners := [*places.tables(given, "ownerReferences[]")]):
        kept["metadata"]["ownerReferences"] = owners
    status = obj.get("status")
    if obj["kind"] == "Node" and isinstance(status, dict):
        kept["status"] = {key: status[key] for key in _OF_NODES if key in status}
    return kept


def _make_newest(manifest: sources.Manifest) -> None:
    group, _, version = manifest.api_version.rpartition("/")
    if group != _GROUP:
        return
    is_rule = manifest.kind == _RULE
    if version not in ("v1", "v1beta2", "v1beta1", *(["v1alpha3"] if is_rule else [])):
        raise manifest.error(
            f"expected {_GROUP}/v1, or v1beta2 or v1beta1, got {manifest.api_version}"
        )
    manifest.obj["apiVersion"] = f"{_GROUP}/{'v1beta2' if is_rule else 'v1'}"
    if version == "v1beta1":
        for device in places.tables(manifest.obj, "spec.devices[]"):
            if isinstance(device.get("basic"), dict):
                device.update(device.pop("basic"))
        for place in ("spec.devices.requests[]", "spec.spec.devices.requests[]"):
            for request in places.tables(manifest.obj, place):
                if "deviceClassName" in request:
                    below = {key: request.pop(key) for key in _OF_REQUEST if key in request}
                    request["exactly"] = below
