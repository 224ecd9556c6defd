"""Reads the objects of files: the entry of this package."""

import dataclasses
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import msgspec

from harness import errors, suggestions
from harness.manifests import api_versions, documents, server_fields, sources
from harness.model.objects import Object

_LIST = "List"
_LISTS_IN_LISTS_MAX = 8


def read(
    paths: Sequence[str],
    *,
    kinds: Collection[str] = (),
    of: str = "objects",
    keeps_owners: bool = False,
) -> Iterator[sources.Manifest]:
    """Yield the objects of all documents and Lists of files, in their order.

    Each is without server fields, and in today's version of resource.k8s.io.
    `kinds`: those that are allowed; empty: all. `of` is the key that names the files, for messages.
    `keeps_owners`: with `ownerReferences`.
    Raises ManifestError with file, document and object for anything else. A file without objects
    yields none.
    """
    for path in paths:
        for source, value in documents.read(path):
            for place, obj in _of_value(source, value):
                manifest = sources.Manifest(
                    obj=server_fields.dropped(obj, keeps_owners=keeps_owners), source=place
                )
                _require_kind(manifest, kinds, of)
                yield api_versions.converted(manifest)


def _of_value(
    source: sources.Source, value: Any, depth: int = 0
) -> Iterator[tuple[sources.Source, Object]]:
    """Yield an object, or the items of a list of objects."""
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


def _object(source: sources.Source, value: Any) -> dict[str, Any]:
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


def _require_kind(manifest: sources.Manifest, kinds: Collection[str], of: str) -> None:
    if not kinds or manifest.kind in kinds:
        return
    near = suggestions.did_you_mean(manifest.kind, kinds)
    raise manifest.error(
        f"expected one of {', '.join(kinds)} in {of}, got {manifest.kind} of {manifest.api_version}; "
        f"remove it from the file.{near}"
    )
